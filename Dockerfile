# rightseat for one server or a fleet, from pinned packages whose hashes are checked.
FROM python:3.13-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/rightseat
COPY requirements/fleet.txt requirements/build.txt ./
RUN /opt/rightseat/bin/pip install --no-deps --require-hashes -r fleet.txt
RUN pip install --no-deps --require-hashes -r build.txt
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN hatchling build --target wheel --directory /wheel && /opt/rightseat/bin/pip install --no-deps /wheel/*.whl

FROM python:3.13-slim
RUN useradd --uid 10001 --create-home rightseat \
    && install --directory --owner=rightseat --mode=0700 /var/lib/rightseat
COPY --from=build /opt/rightseat /opt/rightseat
ENV PATH=/opt/rightseat/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /etc/rightseat
USER 10001
EXPOSE 8000
VOLUME /var/lib/rightseat
# Ready, not only alive: 503 while a database or a shared log cannot be reached, or while the server shuts down.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/ready', timeout=2)"]
# SIGTERM: no new runs; those that go on have `server.shutdown_timeout` seconds, or go on elsewhere.
STOPSIGNAL SIGTERM
ENTRYPOINT ["rightseat"]
CMD ["serve", "--config", "/etc/rightseat/rightseat.yaml"]
