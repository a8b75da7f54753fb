/** posthog-node in three majors, as published, behind what all three offer. */
import { PostHog as PostHog5 } from 'posthog-node'
import { PostHog as PostHog3 } from 'posthog-node-3'
import { PostHog as PostHog4 } from 'posthog-node-4'
import { API_TOKEN } from '../processes/server.ts'

type Properties = Readonly<Record<string, unknown>>

export type Asking = {
  groups?: Record<string, string>
  personProperties?: Record<string, string>
  onlyEvaluateLocally?: boolean
  sendFeatureFlagEvents?: boolean
}

/** What every major offers; `flush` and `shutdown` are waited for. */
export type NodeClient = {
  alias(message: { distinctId: string; alias: string }): void
  capture(message: {
    distinctId: string
    event: string
    properties?: Properties
    groups?: Record<string, string>
    timestamp?: Date
  }): void
  groupIdentify(message: { groupType: string; groupKey: string; properties?: Properties }): void
  identify(message: { distinctId: string; properties?: Properties }): void
  getAllFlags(distinct_id: string, asking?: Asking): Promise<Record<string, boolean | string>>
  getFeatureFlag(
    key: string,
    distinct_id: string,
    asking?: Asking,
  ): Promise<boolean | string | undefined>
  getFeatureFlagPayload(key: string, distinct_id: string): Promise<unknown>
  flush(): Promise<unknown>
  shutdown(): Promise<void>
}

export type Major = {
  readonly version: string
  /** How it writes a batch. */
  readonly content_encoding: string | undefined
  readonly open: (host: string, more?: { readonly personalApiKey?: string }) => NodeClient
}

/** Sends what is queued by twenties, and again soon after a failure. */
const options = (host: string) => ({ host, flushAt: 20, fetchRetryDelay: 20 })

export const open5 = (host: string, more: object = {}): PostHog5 =>
  new PostHog5(API_TOKEN, { ...options(host), ...more })

export const open4 = (host: string, more: object = {}): PostHog4 =>
  new PostHog4(API_TOKEN, { ...options(host), ...more })

/** The oldest major waits in functions of their own names. */
function open3(host: string, more: object = {}): NodeClient {
  const client = new PostHog3(API_TOKEN, { ...options(host), ...more })
  return {
    alias: (message) => client.alias(message),
    capture: (message) => client.capture(message),
    groupIdentify: (message) => client.groupIdentify(message),
    identify: (message) => client.identify(message),
    getAllFlags: (...asked) => client.getAllFlags(...asked),
    getFeatureFlag: (...asked) => client.getFeatureFlag(...asked),
    getFeatureFlagPayload: (...asked) => client.getFeatureFlagPayload(...asked),
    flush: () => client.flushAsync(),
    shutdown: () => client.shutdownAsync(),
  }
}

export const MAJORS: readonly Major[] = [
  { version: '5.70.0', content_encoding: 'gzip', open: open5 },
  { version: '4.18.0', content_encoding: undefined, open: open4 },
  { version: '3.6.3', content_encoding: undefined, open: open3 },
]
