/** The events of demo persons: they visit a product for shared documents, sign up, work, pay and leave. Pure. */

import { variantBucket } from '../flags/bucket.ts'
import { DAY_MS, HOUR_MS } from '../time.ts'
import {
  ADDRESSES,
  COMPANIES,
  DEVICES,
  DIRECT,
  FIRST_NAMES,
  INDUSTRIES,
  LAST_NAMES,
  SOURCES,
} from './persons.ts'
import { type RandomSource, seededRandom } from './random.ts'

/** The parameters of demo data. Equal parameters give equal events. */
type DemoParameters = {
  readonly seed: string
  readonly persons: number
  readonly days: number
  /** The end of the timeline, milliseconds since 1970. */
  readonly end_ms: number
}

/** One event in the form that SDKs send. */
export type DemoEvent = {
  readonly event: string
  readonly distinct_id: string
  readonly uuid: string
  readonly timestamp: string
  readonly properties: Readonly<Record<string, unknown>>
}

/** The key of the flag that gives half of the persons a new editor. */
export const EDITOR_FLAG = 'new-editor'

const HOST = 'slate.example'
/** Sessions of one person. */
const SESSIONS_MAX = 200

/** Generates the events of one person, in order of time. */
export function* generatePerson(plot: DemoParameters, number: number): Generator<DemoEvent> {
  const person = new DemoPerson(plot, number)
  yield* person.visit()
  if (!person.signs_up) return
  yield* person.signUp()
  yield* person.work()
}

/** A demo person with a separate clock. */
class DemoPerson {
  readonly #plot: DemoParameters
  readonly #chance: RandomSource
  readonly #anonymous_id: string
  readonly #user_id: string
  readonly #name: string
  readonly #source: object
  readonly #device: object
  readonly #ip: string
  readonly #company: (typeof COMPANIES)[number]
  readonly signs_up: boolean
  readonly variant: 'control' | 'test'
  #distinct_id: string
  #now_ms: number
  #count = 0
  #session = ''
  #plan = 'free'
  #is_known = false

  constructor(plot: DemoParameters, number: number) {
    this.#plot = plot
    const chance = seededRandom(plot.seed, `person ${number}`)
    this.#chance = chance
    this.#anonymous_id = uuidOf(`${plot.seed}/anonymous ${number}`, plot.end_ms)
    this.#name = `${chance.pick(FIRST_NAMES)} ${chance.pick(LAST_NAMES)}`
    this.#company = chance.pick(COMPANIES)
    this.#user_id = `user_${number + 1}`
    this.#source = chance.weighed(SOURCES)
    this.#device = chance.weighed(DEVICES)
    this.#ip = chance.pick(ADDRESSES)
    this.signs_up = chance.happens(0.42)
    this.variant = variantBucket(EDITOR_FLAG, this.#user_id) < 0.5 ? 'control' : 'test'
    this.#distinct_id = this.#anonymous_id
    // The number of new persons grows from week to week, and is smaller at night.
    const share = Math.sqrt(chance.next())
    const day_ms = plot.end_ms - plot.days * DAY_MS + Math.floor(share * plot.days) * DAY_MS
    this.#now_ms = day_ms + Math.round((6 + 16 * chance.next()) * HOUR_MS)
  }

  /** The anonymous visit of the public pages. */
  *visit(): Generator<DemoEvent> {
    this.#startSession()
    yield* this.#page('/', this.#source)
    for (const path of ['/features', '/pricing', '/customers'] as const) {
      if (this.#chance.happens(0.45)) yield* this.#page(path)
    }
    if (!this.signs_up) {
      yield* this.#send('$pageleave', { $current_url: `https://${HOST}/` })
      return
    }
    yield* this.#page('/signup')
  }

  *signUp(): Generator<DemoEvent> {
    const $set = {
      email: `${this.#user_id}@${this.#company.toLowerCase()}.example`,
      name: this.#name,
      plan: this.#plan,
      company: this.#company,
    }
    this.#distinct_id = this.#user_id
    yield* this.#send('$identify', { $anon_distinct_id: this.#anonymous_id, $set })
    this.#is_known = true
    yield* this.#send('$groupidentify', {
      $group_type: 'company',
      $group_key: this.#company,
      $group_set: companyOf(this.#plot.seed, this.#company),
    })
    yield* this.#send('signed_up', {
      plan: this.#plan,
      method: this.#chance.pick(['email', 'google']),
    })
    yield* this.#send('$feature_flag_called', {
      $feature_flag: EDITOR_FLAG,
      $feature_flag_response: this.variant,
    })
    for (const step of ['profile', 'workspace', 'import', 'tour'] as const) {
      if (!this.#chance.happens(0.83)) return
      yield* this.#send('onboarding_step_completed', { step })
    }
    yield* this.#send('onboarding_completed', {})
  }

  /** Sessions until the person churns or the timeline ends; the new editor retains more persons. */
  *work(): Generator<DemoEvent> {
    const stays = this.variant === 'test' ? 0.93 : 0.89
    let documents = 0
    for (let session = 0; session < SESSIONS_MAX; session += 1) {
      this.#startSession()
      yield* this.#page('/app', DIRECT)
      const created = this.#chance.whole(0, this.variant === 'test' ? 4 : 3)
      for (let made = 0; made < created; made += 1) {
        documents += 1
        yield* this.#send('document_created', {
          template: this.#chance.pick(['blank', 'meeting', 'roadmap', 'brief']),
          $set: { documents },
        })
        if (this.#chance.happens(0.3))
          yield* this.#send('document_shared', { with: this.#chance.whole(1, 9) })
      }
      if (this.#chance.happens(0.12)) yield* this.#send('teammate_invited', {})
      if (this.#chance.happens(0.06)) {
        yield* this.#send('document_exported', { format: this.#chance.pick(['pdf', 'docx', 'md']) })
      }
      yield* this.#pay(documents)
      yield* this.#send('$pageleave', { $current_url: `https://${HOST}/app` })
      if (!this.#chance.happens(stays)) return
      this.#now_ms += Math.round((0.4 + this.#chance.wait(2.6)) * DAY_MS)
    }
  }

  *#pay(documents: number): Generator<DemoEvent> {
    if (this.#plan === 'free' && documents > 5 && this.#chance.happens(0.1)) {
      yield* this.#page('/pricing')
      if (!this.#chance.happens(0.6)) return
      this.#plan = this.#chance.pick(['pro', 'pro', 'team'])
      const revenue = this.#plan === 'team' ? 49 : 12
      yield* this.#send('upgraded_plan', { plan: this.#plan, revenue, $set: { plan: this.#plan } })
    } else if (this.#plan !== 'free' && this.#chance.happens(0.03)) {
      yield* this.#send('subscription_cancelled', { plan: this.#plan, $set: { plan: 'free' } })
      this.#plan = 'free'
    }
  }

  *#page(path: string, more: object = {}): Generator<DemoEvent> {
    const place = { $current_url: `https://${HOST}${path}`, $pathname: path, $host: HOST }
    yield* this.#send('$pageview', { ...place, ...more })
  }

  /** Yields an event, unless the timeline has ended. */
  *#send(event: string, properties: Readonly<Record<string, unknown>>): Generator<DemoEvent> {
    this.#now_ms += Math.round((2 + this.#chance.wait(25)) * 1000)
    this.#count += 1
    if (this.#now_ms >= this.#plot.end_ms) return
    const known = this.#is_known
      ? { $groups: { company: this.#company }, [`$feature/${EDITOR_FLAG}`]: this.variant }
      : {}
    yield {
      event,
      distinct_id: this.#distinct_id,
      uuid: uuidOf(`${this.#plot.seed}/${this.#anonymous_id}/${this.#count}`, this.#now_ms),
      timestamp: new Date(this.#now_ms).toISOString(),
      properties: {
        ...this.#device,
        $ip: this.#ip,
        $session_id: this.#session,
        $lib: 'demo',
        ...known,
        ...properties,
      },
    }
  }

  #startSession(): void {
    this.#session = uuidOf(`${this.#plot.seed}/${this.#anonymous_id}/s${this.#count}`, this.#now_ms)
  }
}

/** The properties of a company, equal for all of its persons. */
function companyOf(seed: string, name: string): object {
  const chance = seededRandom(seed, `company ${name}`)
  const employees = Math.round(5 + chance.wait(120))
  return { name, industry: chance.pick(INDUSTRIES), employees }
}

/** A UUIDv7 whose random part is a hash of a text. */
function uuidOf(text: string, at_ms: number): string {
  const hash = new Bun.SHA1().update(text).digest('hex')
  const time = Math.max(0, at_ms).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hash.slice(0, 3)}-8${hash.slice(3, 6)}-${hash.slice(6, 18)}`
}
