# Images by tag, so that a build gets the security fixes of its day. Who has to pin them gives a digest:
#   docker build --build-arg BUILD_IMAGE=node:24-slim@sha256:… --build-arg RUN_IMAGE=debian:trixie-slim@sha256:… .
ARG BUILD_IMAGE=node:24-slim
ARG RUN_IMAGE=debian:trixie-slim

# Build: any Node image will do, Bun comes through npx as on every machine.
FROM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json bun.lock bunfig.toml ./
COPY test/backup/store/s3rver.patch test/backup/store/
RUN npx -y bun@1.4.5 install --frozen-lockfile
COPY tsconfig.json ./
COPY sql sql
COPY src src
RUN npx -y bun@1.4.5 run build

# Run: the executable carries everything but the C library, and DuckDB needs a glibc one.
FROM ${RUN_IMAGE}
RUN useradd --system --uid 10001 --no-create-home tidemark \
  && install --directory --mode 0700 --owner tidemark --group tidemark /data
COPY --from=build /src/dist/tidemark /usr/local/bin/tidemark
# Cities of addresses: IP Geolocation by DB-IP, https://db-ip.com (CC-BY-4.0).
COPY --from=build /src/dist/geoip /usr/local/bin/geoip
USER tidemark
ENV TIDEMARK_HOST=0.0.0.0 \
  TIDEMARK_PORT=8000 \
  TIDEMARK_DATA_DIR=/data
VOLUME /data
EXPOSE 8000
# The slim image has no curl; bash can open a connection by itself. It speaks no TLS: with https an open port is enough.
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$TIDEMARK_PORT && { [ -n \"$TIDEMARK_TLS_CERT$TIDEMARK_ACME_DOMAINS\" ] || { printf 'GET %s/_health HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' \"${TIDEMARK_BASE_PATH%/}\" >&3 && head -n 1 <&3 | grep -q ' 200 '; }; }"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tidemark"]
CMD ["serve"]
