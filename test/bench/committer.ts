/** The data thread's work alone, without the disk's: `bun test/bench/committer.ts 2 1000000` (millions of events, persons). */

import { DefinitionTracker } from '../../src/ingest/notes/definition-tracker.ts'
import { ProjectPlugins } from '../../src/ingest/pipeline/plugins.ts'
import { Committer } from '../../src/ingest/threads/committer.ts'
import { CAPTURE_LIMITS } from '../../src/ingest/threads/messages.ts'
import { openStores } from '../../src/ingest/write/apply.ts'
import { ProjectTokens } from '../../src/storage/control/project-tokens.ts'
import { Folder, TOKEN } from '../ingest/folder.ts'
import { seeded, someEvent } from './events.ts'

const MILLIONS = Number(process.argv[2] ?? 2)
const PERSONS = Number(process.argv[3] ?? 10_000)

const EVENTS_PER_BATCH = 100
const BATCHES_PER_TURN = 20
const EVENTS_PER_LINE = 250_000

const folder = new Folder()
const stores = openStores(folder.path)
const tokens = new ProjectTokens(folder.path)
const plugins = new ProjectPlugins(folder.path)
let answered = 0
const committer = new Committer({
  stores,
  tokens,
  plugins,
  limits: CAPTURE_LIMITS,
  locate: () => null,
  names: new DefinitionTracker(),
  answer: ({ answers }) => {
    for (const [, answer] of answers) {
      if (answer.kind !== 'stored') throw new Error(`a batch was not stored: ${answer.kind}`)
      answered += answer.accepted
    }
  },
  breakDown: (message) => {
    throw new Error(message)
  },
  wake: () => undefined,
})

const encoder = new TextEncoder()
const random = seeded(9)
let batches = 0

function capture(distinctId: () => string) {
  batches += 1
  const batch = Array.from({ length: EVENTS_PER_BATCH }, () => ({
    ...someEvent(random, 1),
    distinct_id: distinctId(),
  }))
  return {
    id: batches,
    path: '/batch',
    query: '',
    content_type: 'application/json',
    content_encoding: '',
    client_ip: '',
    received_at_ms: Date.now(),
    body: encoder.encode(JSON.stringify({ api_key: TOKEN, batch })),
  }
}

type Fed = { readonly rate: number; readonly cpu_us: number; readonly longest_ms: number }

/** Feeds a number of events; answers how many the committer took per second, what each took of the processor, and the longest turn. */
function feed(count: number, distinctId: () => string): Fed {
  const before = answered
  let took_ms = 0
  let cpu_us = 0
  let longest_ms = 0
  for (let fed = 0; fed < count; fed += EVENTS_PER_BATCH * BATCHES_PER_TURN) {
    committer.receive(Array.from({ length: BATCHES_PER_TURN }, () => capture(distinctId)))
    while (committer.has_work) {
      const started = performance.now()
      const used = process.cpuUsage()
      committer.turn()
      const { user, system } = process.cpuUsage(used)
      cpu_us += user + system
      const turn_ms = performance.now() - started
      took_ms += turn_ms
      longest_ms = Math.max(longest_ms, turn_ms)
    }
    // Another thread's work in the server.
    if (batches % (10 * BATCHES_PER_TURN) === 0) stores.log.checkpoint()
  }
  return {
    rate: Math.round(((answered - before) / took_ms) * 1000),
    cpu_us: cpu_us / (answered - before),
    longest_ms: Math.round(longest_ms),
  }
}

let made = 0
const created = feed(PERSONS, () => `user-${made++}`)
process.stdout.write(
  `${PERSONS} persons created: ${created.rate} events/s, ${created.cpu_us.toFixed(1)} µs of processor time each\n`,
)
for (let fed = 0; fed < MILLIONS * 1_000_000; fed += EVENTS_PER_LINE) {
  const { rate, cpu_us, longest_ms } = feed(
    EVENTS_PER_LINE,
    () => `user-${Math.floor(random() * PERSONS)}`,
  )
  const mb = Math.round(process.memoryUsage.rss() / 1e6)
  process.stdout.write(
    `${(fed + EVENTS_PER_LINE) / 1e6} million: ${rate} events/s, ${cpu_us.toFixed(1)} µs of processor time each, longest turn ${longest_ms} ms, ${mb} MB resident\n`,
  )
}
plugins.close()
stores.log.close()
tokens.close()
await folder.remove()
