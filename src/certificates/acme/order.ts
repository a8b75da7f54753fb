/** One order at a certificate authority (RFC 8555), from the account to the certificate. */
import { X509Certificate } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type * as Acme from 'acme-client'
import type { Authorization, Client, Order } from 'acme-client'
import { type AcmeFile, areSameNames, type IssuedCertificate, type OpenOrder } from './acme-file.ts'
import { ChallengeListener, type ListenAddress } from './challenge-listener.ts'
import { replaceTransport } from './transport.ts'

/** Time of a whole attempt: an authority asks from several places, which takes it seconds. */
const ATTEMPT_TIME_MS = 300_000
/** The first wait between two looks at an order; each is half as long again. */
const LOOK_MS = 500
const LOOK_MAX_MS = 10_000

export type OrderOptions = {
  readonly directory: string
  readonly domains: readonly string[]
  readonly email: string | null
  /** PEM; see `TransportOptions`. */
  readonly ca: string | null
  /** The address that answers challenges. */
  readonly challenges: ListenAddress
}

type OrderNeeds = {
  readonly file: AcmeFile
  readonly signal: AbortSignal
  /** Called before the authority gets a new order, or is to ask for an old one again. */
  readonly countAttempt: () => void
}

type Library = typeof Acme

/** Obtains a certificate, which the file has then. Throws the reason why it cannot be had now. */
export async function obtainCertificate(options: OrderOptions, needs: OrderNeeds): Promise<void> {
  // Loaded only for an order: the library takes 36 MB.
  const library = await import('acme-client')
  const signal = AbortSignal.any([needs.signal, AbortSignal.timeout(ATTEMPT_TIME_MS)])
  replaceTransport(library.axios, { ca: options.ca, signal })
  using listener = new ChallengeListener(options.challenges)
  const client = await openAccount(library, options, needs.file)
  const open = await findOpenOrder(client, options, needs.file)
  if (open === null || open.order.status === 'pending') needs.countAttempt()
  const { order, key } = open ?? (await beginOrder(library, client, { options, file: needs.file }))
  const steps = { signal, library, client, listener, domains: options.domains, key }
  const chain = await completeOrder(order, steps)
  const { directory, domains } = options
  const certificate = { directory, domains, chain, key }
  requireNames(certificate)
  needs.file.change({ certificate, order: null, fault: null })
}

/** Logs in with the account's key, which is on the disk before the authority knows it. */
async function openAccount(
  library: Library,
  { directory, email }: OrderOptions,
  file: AcmeFile,
): Promise<Client> {
  const { account_keys } = file.state
  const key = account_keys[directory] ?? String(await library.crypto.createPrivateEcdsaKey())
  if (account_keys[directory] === undefined) {
    file.change({ account_keys: { ...account_keys, [directory]: key } })
  }
  const client = new library.Client({ directoryUrl: directory, accountKey: key })
  // The authority finds an account by its key, and changes the address of one that it has.
  await client.createAccount({
    termsOfServiceAgreed: true,
    ...(email !== null && { contact: [`mailto:${email}`] }),
  })
  return client
}

/** The order that an ended process left, with its key; null when there is none for these names, or it failed. */
async function findOpenOrder(
  client: Client,
  { directory, domains }: OrderOptions,
  file: AcmeFile,
): Promise<{ readonly order: Order; readonly key: string } | null> {
  const open = file.state.order
  if (open === null || open.directory !== directory || !areSameNames(open.domains, domains))
    return null
  const order = await client.getOrder(withUrl(open)).catch((error: unknown) => {
    // An authority forgets orders. When it does not answer, the next attempt asks again.
    if (isRefusal(error)) return null
    throw error
  })
  return order === null || order.status === 'invalid' ? null : { order, key: open.key }
}

/** The library reads only the address of an order that it asks for. */
const withUrl = ({ url }: OpenOrder): Order => ({
  url,
  status: 'pending',
  identifiers: [],
  authorizations: [],
  finalize: '',
})

/** The library throws a plain error with the authority's words for an answer that is no success. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && Object.getPrototypeOf(error) === Error.prototype

/** Orders the names. A process that is killed from here on leaves an order that the next one finds. */
async function beginOrder(
  library: Library,
  client: Client,
  {
    options: { directory, domains },
    file,
  }: { readonly options: OrderOptions; readonly file: AcmeFile },
): Promise<{ readonly order: Order; readonly key: string }> {
  const key = String(await library.crypto.createPrivateEcdsaKey())
  const identifiers = domains.map((value) => ({ type: 'dns', value }))
  const order = await client.createOrder({ identifiers })
  file.change({ order: { directory, domains, key, url: order.url } })
  return { order, key }
}

type OrderSteps = {
  readonly signal: AbortSignal
  readonly library: Library
  readonly client: Client
  readonly listener: ChallengeListener
  readonly domains: readonly string[]
  /** The key of the certificate, in PEM. */
  readonly key: string
}

/** Brings an order from the state it is in to its certificate: pending → ready → processing → valid. */
async function completeOrder(begun: Order, steps: OrderSteps): Promise<string> {
  const { client, library, domains, key, signal } = steps
  let order = begun
  let has_answered = false
  for (let wait_ms = LOOK_MS; ; wait_ms = Math.min(wait_ms * 1.5, LOOK_MAX_MS)) {
    signal.throwIfAborted()
    if (order.status === 'valid' && order.certificate !== undefined) {
      return client.getCertificate(order)
    }
    if (order.status === 'invalid') throw await explainFailure(order, client)
    if (order.status === 'ready') {
      const altNames = [...domains]
      const [, request] = await library.crypto.createCsr({ altNames }, key)
      order = await client.finalizeOrder(order, request)
      continue
    }
    if (order.status === 'pending' && !has_answered) {
      await answerChallenges(order, steps)
      has_answered = true
    } else if (order.status === 'pending') {
      await requireNoFault(order, client)
    }
    order = await client.getOrder(order)
    if (order.status === 'pending' || order.status === 'processing') {
      await setTimeout(wait_ms, undefined, { signal })
    }
  }
}

/** Lets the listener have the answers, then says to the authority that they are there. */
async function answerChallenges(order: Order, { client, listener }: OrderSteps): Promise<void> {
  for (const authorization of await client.getAuthorizations(order)) {
    if (authorization.status === 'valid') continue
    const challenge = authorization.challenges.find(({ type }) => type === 'http-01')
    if (challenge === undefined) {
      throw new Error(`it offers no http-01 challenge for ${authorization.identifier.value}`)
    }
    const answer = await client.getChallengeKeyAuthorization(challenge)
    listener.answer(challenge.token, answer)
    if (challenge.status === 'pending') await client.completeChallenge(challenge)
  }
}

/** Throws the fault of a challenge that its authority does not try again by itself. */
async function requireNoFault(order: Order, client: Client): Promise<void> {
  const failed = findFault(await client.getAuthorizations(order), ['invalid', 'pending'])
  if (failed !== null) throw new Error(failed)
}

async function explainFailure(order: Order, client: Client): Promise<Error> {
  const authorizations = await client.getAuthorizations(order)
  const detail = findFault(authorizations, ['invalid']) ?? JSON.stringify(order.error ?? 'invalid')
  return new Error(`the order failed: ${detail}`)
}

function findFault(
  authorizations: readonly Authorization[],
  statuses: readonly string[],
): string | null {
  for (const { identifier, challenges } of authorizations) {
    for (const { type, status, error } of challenges) {
      if (type !== 'http-01' || error === undefined || !statuses.includes(status)) continue
      const detail = 'detail' in error ? String(error.detail) : JSON.stringify(error)
      return `${identifier.value} was not confirmed: ${detail}`
    }
  }
  return null
}

/** An authority may only issue what was ordered, and so it is not served otherwise. */
function requireNames({ chain, domains }: IssuedCertificate): void {
  const certificate = new X509Certificate(chain)
  const missing = domains.filter((domain) => certificate.checkHost(domain) === undefined)
  if (missing.length > 0) throw new Error(`the certificate is not for ${missing.join(', ')}`)
}
