/** Attacks a real server while an honest client uses it, and tells which request held which thread. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { seeded } from '../bench/events.ts'
import { API_TOKEN, PERSONAL_API_KEY, startServer } from '../flows/processes/server.ts'
import { furnish, type Place, placeOf } from '../http/two-places.ts'
import type { Attack, Sent } from './attack.ts'
import type { HonestPlace, HonestReport, Latencies, Pause } from './honest-client.ts'

export type AttackOptions = {
  readonly data_dir: string
  readonly attacks: readonly Attack[]
  readonly seed: number
  /** No further attack begins after that long, once there were some. */
  readonly seconds: number
  /** Requests sent of each attack and size; all when there are fewer. */
  readonly requests_max: number
  /** Stalls from this length on are told. */
  readonly stall_ms: number
}

/** A time for which a request held a thread. */
export type Stall = {
  readonly attack: string
  readonly thread: string
  /** The server's own word for what it was doing. */
  readonly work: string
  readonly held_ms: number
  /** The processor time that the thread used meanwhile, and up to a heartbeat before it. */
  readonly cpu_ms: number
  /** How long a timer with nothing to do was late at that time, on the same machine. */
  readonly machine_ms: number
}

export type AttackResult = {
  readonly latencies: readonly Latencies[]
  /** Writes of one block to the disk at the same time, without the server. */
  readonly disk: Latencies
  readonly stalls: readonly Stall[]
  readonly attacks: number
  readonly requests: number
  /** Requests that no answer came to in time. */
  readonly unanswered: readonly string[]
  /** Answers by status. */
  readonly statuses: Readonly<Record<number, number>>
  readonly exit_code: number
}

const ANSWER_MS_MAX = 60_000
/** Fewer show little; a busy machine takes longer for them. */
const ATTACKS_MIN = 12
/** The refused sizes after which only the largest one is tried. */
const REFUSED_SIZES_MAX = 2
const STOP_MS_MAX = 15_000
const HELD = 'the event loop is held'
const FREE = 'the event loop is free again'

/** What was sent when, in Unix milliseconds. */
type Sending = { readonly name: string; readonly from_ms: number }

/** Runs attacks in a random order, the same for the same seed. */
export async function runAttack(options: AttackOptions): Promise<AttackResult> {
  const server = await startServer({
    data_dir: options.data_dir,
    env: {
      TIDEMARK_STALL_LOG_MS: String(options.stall_ms),
      TIDEMARK_QUERY_TIMEOUT_S: '5',
      TIDEMARK_QUERY_MEMORY_MB: '256',
    },
  })
  const place = await openPlace(server.url)
  const attacker = new Attacker(place, server.url)
  const block_path = `${options.data_dir}.block`
  const honest_place = {
    ...(await openHonestPlace(server.url, place.organization_id)),
    block_path,
  }
  const honest = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'honest-client.ts'), JSON.stringify(honest_place)],
    { stdout: 'pipe' },
  )
  try {
    const random = seeded(options.seed)
    const deadline = performance.now() + options.seconds * 1000
    let attacks = 0
    for (const attack of shuffled(options.attacks, random)) {
      // A server that does not answer is not attacked further: what it hangs in is found by its log.
      const is_over = performance.now() > deadline && attacks >= ATTACKS_MIN
      if (is_over || attacker.unanswered.length > 0) break
      attacks += 1
      await attacker.attack(attack, options.requests_max, random)
    }
    honest.kill('SIGTERM')
    const report: HonestReport = JSON.parse(await new Response(honest.stdout).text())
    // The last stall is logged when it is over.
    await Bun.sleep(100)
    const now_ms = Date.now()
    const log = readFileSync(`${options.data_dir}.log`, 'utf8')
    const stalls = stallsIn(log, attacker.sendings, report.pauses, now_ms)
    const { latencies, disk } = report
    const { requests, statuses, unanswered } = attacker
    const exit_code = await Promise.race([server.stop(), Bun.sleep(STOP_MS_MAX).then(() => -1)])
    return { latencies, disk, stalls, attacks, requests, statuses, unanswered, exit_code }
  } finally {
    honest.kill('SIGKILL')
    await server.kill()
  }
}

/** The place of the server's owner, with one thing of each kind. */
async function openPlace(url: string): Promise<Place> {
  const world = { send: (path: string, init?: RequestInit) => fetch(url + path, init) }
  const headers = { Authorization: `Bearer ${PERSONAL_API_KEY}` }
  const me = await fetch(`${url}/api/users/@me/`, { headers })
  const { organization }: { organization: { id: string } } = JSON.parse(await me.text())
  const place = placeOf(world, {
    project_id: 1,
    organization_id: organization.id,
    api_token: API_TOKEN,
    key: PERSONAL_API_KEY,
  })
  await furnish(world, place, 'at-home')
  return place
}

/** A project and a key of the honest client's own. */
async function openHonestPlace(
  url: string,
  organization_id: string,
): Promise<Omit<HonestPlace, 'block_path'>> {
  const post = async (path: string, body: object): Promise<string> => {
    const headers = {
      Authorization: `Bearer ${PERSONAL_API_KEY}`,
      'Content-Type': 'application/json',
    }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (answer.status !== 201) throw new Error(`${path}: ${await answer.text()}`)
    return answer.text()
  }
  const projects = `/api/organizations/${organization_id}/projects/`
  const project: { id: number } = JSON.parse(await post(projects, { name: 'honest' }))
  const key: { value: string } = JSON.parse(
    await post('/api/personal_api_keys/', { label: 'honest', scopes: ['query:read'] }),
  )
  return { url, project_id: project.id, personal_api_key: key.value }
}

class Attacker {
  readonly #place: Place
  readonly #url: string
  readonly sendings: Sending[] = []
  readonly statuses: Record<number, number> = {}
  readonly unanswered: string[] = []
  requests = 0

  constructor(place: Place, url: string) {
    this.#place = place
    this.#url = url
  }

  async attack({ name, sizes, requests }: Attack, requests_max: number, random: () => number) {
    let refused_sizes = 0
    for (const size of sizes) {
      if (refused_sizes >= REFUSED_SIZES_MAX && size !== sizes.at(-1)) continue
      const all = requests(size, this.#place)
      const first = Math.floor(random() * Math.max(1, all.length - requests_max + 1))
      let refused = 0
      const sent = all.slice(first, first + requests_max)
      for (const [at, one] of sent.entries()) {
        const status = await this.#send(`${name}, size ${size}, request ${first + at}`, one)
        if (status >= 400) refused += 1
      }
      if (refused === sent.length) refused_sizes += 1
    }
  }

  async #send(
    name: string,
    { method, path, body, content_encoding, bearer = PERSONAL_API_KEY }: Sent,
  ): Promise<number> {
    const full_name = `${name} (${method} ${path.slice(0, 100)})`
    this.sendings.push({ name: full_name, from_ms: Date.now() })
    this.requests += 1
    const headers = {
      Authorization: `Bearer ${bearer}`,
      ...(typeof body === 'string' ? { 'Content-Type': 'application/json' } : {}),
      ...(content_encoding === undefined ? {} : { 'Content-Encoding': content_encoding }),
    }
    const signal = AbortSignal.timeout(ANSWER_MS_MAX)
    let status = 0
    try {
      const answer = await fetch(this.#url + path, { method, headers, body, signal })
      await answer.arrayBuffer()
      status = answer.status
    } catch (error) {
      this.unanswered.push(`${name}: ${String(error)}`)
    }
    this.statuses[status] = (this.statuses[status] ?? 0) + 1
    return status
  }
}

type LogLine = {
  readonly time: string
  readonly thread: string
  readonly held_ms: number
  /** In the line that says that the thread is free again. */
  readonly cpu_ms?: number
  readonly work?: { readonly name: string } | null
  readonly last_work?: { readonly name: string }
  readonly msg: string
}

/** The stalls that the server has logged, each with what was sent at that time. */
function stallsIn(
  log: string,
  sendings: readonly Sending[],
  pauses: readonly Pause[],
  now_ms: number,
): readonly Stall[] {
  const stalls: Stall[] = []
  const open = new Map<string, LogLine>()
  const close = (held: LogLine, from_ms: number, until_ms: number, cpu_ms: number): void => {
    const sent = sendings.findLast((one) => one.from_ms <= from_ms + 60)
    const machine_ms = pauses
      .filter(({ at_ms, late_ms }) => at_ms > from_ms - 50 && at_ms - late_ms < until_ms + 50)
      .reduce((sum, { late_ms }) => sum + late_ms, 0)
    stalls.push({
      attack: sent?.name ?? '',
      thread: held.thread,
      work: held.work?.name ?? `after ${held.last_work?.name ?? ''}`,
      held_ms: until_ms - from_ms,
      cpu_ms,
      machine_ms: Math.round(machine_ms),
    })
  }
  for (const text of log.split('\n')) {
    if (!text.includes(HELD) && !text.includes(FREE)) continue
    const line: LogLine = JSON.parse(text)
    const held = open.get(line.thread)
    const at_ms = Date.parse(line.time)
    if (line.msg === HELD) open.set(line.thread, line)
    else if (held !== undefined) {
      close(held, at_ms - line.held_ms, at_ms, line.cpu_ms ?? 0)
      open.delete(line.thread)
    }
  }
  // What hangs still.
  for (const held of open.values()) {
    const from_ms = Date.parse(held.time) - held.held_ms
    close(held, from_ms, now_ms, now_ms - from_ms)
  }
  return stalls
}

function shuffled<T>(values: readonly T[], random: () => number): readonly T[] {
  return values
    .map((value) => ({ value, place: random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ value }) => value)
}

/** A stall without what the machine did to everything at that time. */
export function ownMs({ held_ms, cpu_ms, machine_ms }: Stall): number {
  return Math.max(0, Math.min(cpu_ms, held_ms - machine_ms))
}

/** The stalls, the longest first, one line each. */
export function textOfStalls(stalls: readonly Stall[]): string {
  return stalls
    .toSorted((one, other) => ownMs(other) - ownMs(one))
    .map(
      (stall) =>
        `${stall.held_ms} ms (processor ${stall.cpu_ms}, machine ${stall.machine_ms}) ${stall.thread}: ${stall.work} ← ${stall.attack}`,
    )
    .join('\n')
}
