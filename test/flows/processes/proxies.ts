/** Proxies as processes: Caddy and nginx with the sites of a test, all of their files in its folder. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type ProxyName = 'caddy' | 'nginx'

type ProxyKind = {
  readonly name: ProxyName
  /** Its program, as Debian's packages `caddy` and `nginx-light` install it; null where it is not installed. */
  readonly program: string | null
  /** Writes its configuration around the sites; returns the arguments that start it in the foreground. */
  readonly configure: (folder: string, sites: string) => readonly string[]
}

/** A line adds a proxy. */
export const PROXIES: readonly ProxyKind[] = [
  { name: 'caddy', program: Bun.which('caddy'), configure: configureCaddy },
  {
    name: 'nginx',
    program: Bun.which('nginx') ?? Bun.which('/usr/sbin/nginx'),
    configure: configureNginx,
  },
]

function configureCaddy(folder: string, sites: string): readonly string[] {
  const path = join(folder, 'Caddyfile')
  writeFileSync(path, `{\nadmin off\nauto_https disable_redirects\n}\n${sites}`)
  return ['run', '--adapter', 'caddyfile', '--config', path]
}

/** Wraps the sites in the rest of a configuration, which keeps all files in the test's folder. */
function configureNginx(folder: string, sites: string): readonly string[] {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((use) => `${use}_temp_path ${folder}/nginx-${use};`)
    .join('\n')
  const path = join(folder, 'nginx.conf')
  const outer = `daemon off;\npid ${folder}/nginx.pid;\nerror_log stderr;\nevents {}\n`
  writeFileSync(path, `${outer}http {\naccess_log off;\n${temporary}\n${sites}}\n`)
  return ['-p', folder, '-e', 'stderr', '-c', path]
}

type ProxyOptions = {
  readonly folder: string
  readonly sites: string
  /** Addresses that it must answer on before it counts as started. */
  readonly urls: readonly string[]
  /** The certificate that its answers over https are checked with. */
  readonly ca?: string
}

/** Starts a proxy and waits until it answers. Throws what it says when it ends before. */
export async function startProxy(
  { program, configure }: ProxyKind,
  { folder, sites, urls, ca }: ProxyOptions,
): Promise<{ stop(): Promise<void> }> {
  const log = join(folder, 'proxy.log')
  const child = Bun.spawn([program ?? '', ...configure(folder, sites)], {
    env: { ...process.env, HOME: folder },
    stdout: 'ignore',
    stderr: Bun.file(log),
  })
  for (const url of urls) {
    for (;;) {
      const tls = ca === undefined ? {} : { tls: { ca } }
      const answer = await fetch(`${url}/_health`, tls).catch(() => null)
      // A front has no home for this path, and says so itself.
      if (answer?.ok === true || answer?.status === 404) break
      if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8'))
      await Bun.sleep(50)
    }
  }
  return {
    async stop() {
      child.kill()
      await child.exited
    },
  }
}
