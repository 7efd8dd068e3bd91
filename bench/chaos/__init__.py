"""The chaos programme: every kill point under every fault, judged by a site that writes down what it was sent."""
