cd /tmp/evw && PYTHONPATH=/tmp/evw nice -n 5 /work/main/.venv/bin/python -m pytest -q -p no:cacheprovider "$@"
