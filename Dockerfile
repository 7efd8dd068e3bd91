# One image for every role: `docker compose up`, or `docker run … --role browser`.
# Build stage: everything in the lock is fetched and checked against its hashes, and becomes wheels. The final stage
# installs from those wheels only, without the tools that development needs.
FROM python:3.12.12-slim-bookworm AS build
WORKDIR /src
COPY requirements.lock ./
# The lock says which version; these come from its wheels alone.
# hadolint ignore=DL3013
RUN pip wheel --no-cache-dir --no-deps --require-hashes --requirement requirements.lock --wheel-dir /wheels \
    && pip install --no-cache-dir --no-index --find-links /wheels hatchling
COPY pyproject.toml README.md LICENSE worker.py ./
COPY replaywright ./replaywright
COPY workflows ./workflows
COPY activities ./activities
COPY cache ./cache
COPY demo ./demo
RUN pip wheel --no-cache-dir --no-deps --no-index --no-build-isolation --wheel-dir /wheels .

FROM python:3.12.12-slim-bookworm
# Debian keeps the newest Chromium of its release only: a version that is named here is gone with its next security update.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends chromium fonts-dejavu-core fonts-noto-cjk fonts-noto-color-emoji \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 replaywright \
    && useradd --create-home --uid 10001 --gid 10001 replaywright \
    && install --directory --owner replaywright --group replaywright --mode 700 \
        /var/lib/replaywright /artifacts /run/replaywright
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index --find-links /wheels replaywright
# By its number, so that whoever runs it can see that it is not root.
USER 10001:10001
WORKDIR /home/replaywright
ENV HOME=/home/replaywright \
    REPLAYWRIGHT_HOME=/var/lib/replaywright \
    REPLAYWRIGHT_ARTIFACTS_URL=/artifacts \
    REPLAYWRIGHT_CHROMIUM=/usr/bin/chromium \
    REPLAYWRIGHT_READY_FILE=/run/replaywright/ready.json \
    PYTHONUNBUFFERED=1
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["test", "-f", "/run/replaywright/ready.json"]
ENTRYPOINT ["replaywright-worker"]
CMD ["--role", "all"]
