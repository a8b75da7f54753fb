/** PROXIES: configurations of proxies that send each request to the home of its project, printed from a table. */
import type { RouteTable } from './route-table.ts'

/** Prints a configuration; `site` is the host name under which the front serves. */
type PrintProxy = (table: RouteTable, site: string) => string

/** A line adds a proxy. */
export const PROXIES = {
  caddy: printCaddy,
  nginx: printNginx,
} as const satisfies Readonly<Record<string, PrintProxy>>

/** A project's token as the first part of a path, which the home does not get to see. */
const TOKEN_PATH = '^/(phc_[A-Za-z0-9_-]+)/'

/**
 * The places in which a request names its project, the first one first: patterns over the path with its query, a space,
 * and the Authorization header. Bodies may be compressed, so no proxy looks for the token there.
 */
const KEY_PATTERNS: readonly string[] = [
  TOKEN_PATH,
  '^/array/(phc_[A-Za-z0-9_-]+)/',
  '^/api/(?:projects|environments)/([0-9]+)[/? ]',
  '^[^ ]*[?&](?:token|api_key)=(phc_[A-Za-z0-9_-]+)',
  ' [Bb]earer +(phc_[A-Za-z0-9_-]+)',
]

const HOMELESS = 'No home of this front has the project that the request names.'

/** Ids and tokens, each with the home. */
const keysOf = ({ projects }: RouteTable): readonly (readonly [string, string])[] =>
  projects.flatMap(({ id, token, home }): [string, string][] => [
    [String(id), home],
    [token, home],
  ])

/** Hashed maps, so that a request costs the same with many projects. */
function printNginx(table: RouteTable, site: string): string {
  const keys = keysOf(table)
  const upstreams = table.homes.map(
    ({ name, address }) => `upstream tidemark_${name} {
    server ${address};
    keepalive 32;
    keepalive_timeout 30s;
}`,
  )
  const patterns = KEY_PATTERNS.map(
    (pattern) => `    "~${pattern.replace(/\((?!\?)/, '(?<tidemark_found>')}" $tidemark_found;`,
  )
  const homes = keys.map(([key, home]) => `    ${key} tidemark_${home};`)
  const fallback = table.default_home === null ? '""' : `tidemark_${table.default_home}`
  return `# Printed by "tidemark clickhouse routes"; part of the http block.
map_hash_bucket_size 512;
map_hash_max_size ${2 ** Math.ceil(Math.log2(Math.max(2048, 4 * keys.length)))};

${upstreams.join('\n')}

map "$request_uri $http_authorization" $tidemark_project {
${patterns.join('\n')}
    default "";
}

map $tidemark_project $tidemark_home {
${homes.join('\n')}
    default ${fallback};
}

map $request_uri $tidemark_path {
    "~${TOKEN_PATH.replace(/\/$/, '').replace(/[()]/g, '')}(?<tidemark_rest>/.*)$" $tidemark_rest;
    default $request_uri;
}

server {
    listen 443 ssl;
    server_name ${site};
    ssl_certificate /etc/ssl/${site}.crt;
    ssl_certificate_key /etc/ssl/${site}.key;
    client_max_body_size 20m;
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_buffering off;
    proxy_read_timeout 1h;
    location / {
        if ($tidemark_home = "") {
            return 404 "${HOMELESS}\\n";
        }
        proxy_pass http://$tidemark_home$tidemark_path;
    }
}
`
}

/** The patterns read `orig_uri`, the address as it came: the rewrite changes `uri` before the home is looked up. */
function printCaddy(table: RouteTable, site: string): string {
  const addresses = new Map(table.homes.map(({ name, address }) => [name, address]))
  const patterns = KEY_PATTERNS.map((pattern) => `\t\t"~${pattern}" "\${1}"`)
  const homes = keysOf(table).map(([key, home]) => `\t\t${key} ${addresses.get(home) ?? ''}`)
  const fallback = table.default_home === null ? '""' : addresses.get(table.default_home)
  return `# Printed by "tidemark clickhouse routes".
${site} {
	map "{http.request.orig_uri} {http.request.header.Authorization}" {tidemark_project} {
${patterns.join('\n')}
		default ""
	}
	map {tidemark_project} {tidemark_home} {
${homes.join('\n')}
		default ${fallback}
	}
	@homeless expression \`{tidemark_home} == ""\`
	handle @homeless {
		respond "${HOMELESS}" 404
	}
	handle {
		uri path_regexp ${TOKEN_PATH} /
		reverse_proxy {tidemark_home}
	}
}
`
}
