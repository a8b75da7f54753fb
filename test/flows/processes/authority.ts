/** A certificate authority that speaks ACME: Caddy's own one, which asks this machine by names that only it knows. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from './server.ts'

/** Caddy asks on port 80 of a name's address, and the names are in a table of hosts that only its process sees. */
export const NO_AUTHORITY = findReason()

function findReason(): string | null {
  if (Bun.which('caddy') === null) return 'caddy is not installed'
  const may_mount = Bun.which('unshare') !== null && inOwnMounts(['true']).exitCode === 0
  if (!may_mount) return 'this user may not give a process its own mounts'
  try {
    void Bun.serve({ hostname: newAddress(), port: 80, fetch: () => new Response() }).stop(true)
    return null
  } catch {
    return 'this user may not listen on port 80'
  }
}

function inOwnMounts(command: readonly string[]): { readonly exitCode: number } {
  return Bun.spawnSync(['unshare', '-m', ...command], { stdout: 'ignore', stderr: 'ignore' })
}

/** An address of this machine that no other test uses, so that each has its own port 80. */
export function newAddress(): string {
  const [a = 1, b = 1, c = 1] = crypto.getRandomValues(new Uint8Array(3))
  return `127.${(a % 100) + 100}.${b}.${(c % 250) + 2}`
}

export type Authority = {
  readonly directory: string
  /** The certificate that its own one is checked with. */
  readonly ca_path: string
  stop(): Promise<void>
}

type AuthorityOptions = {
  readonly folder: string
  /** The address of each name. */
  readonly hosts: Readonly<Record<string, string>>
  readonly port?: number
}

/** Starts an authority. One that is started again in the same folder knows its accounts and orders. */
export async function startAuthority({
  folder,
  hosts,
  port = freePort(),
}: AuthorityOptions): Promise<Authority> {
  const hosts_path = join(folder, 'hosts')
  const lines = Object.entries({ localhost: '127.0.0.1', ...hosts })
  writeFileSync(hosts_path, lines.map(([name, address]) => `${address} ${name}\n`).join(''))
  const config_path = join(folder, 'Caddyfile')
  const site = `https://localhost:${port} {\nbind 127.0.0.1\ntls internal\nacme_server\n}\n`
  const options = '{\nadmin off\nauto_https disable_redirects\nskip_install_trust\n}\n'
  writeFileSync(config_path, options + site)
  const log = join(folder, 'authority.log')
  const script = 'mount --bind "$1" /etc/hosts && exec caddy run --adapter caddyfile --config "$2"'
  const child = Bun.spawn(['unshare', '-m', 'sh', '-c', script, 'sh', hosts_path, config_path], {
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder },
    stdout: 'ignore',
    stderr: Bun.file(log),
  })
  const directory = `https://localhost:${port}/acme/local/directory`
  for (;;) {
    const tls = { rejectUnauthorized: false }
    const answer = await fetch(directory, { tls }).catch(() => null)
    if (answer?.ok) break
    if (child.exitCode !== null) throw new Error(readFileSync(log, 'utf8').slice(-2000))
    await Bun.sleep(50)
  }
  return {
    directory,
    ca_path: join(folder, 'caddy/pki/authorities/local/root.crt'),
    async stop() {
      child.kill()
      await child.exited
    },
  }
}
