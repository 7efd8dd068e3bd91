"""The live view: page and panel of a recording as a web page on loopback, for machines without a screen."""
