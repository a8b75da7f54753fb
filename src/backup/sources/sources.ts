/** The tools whose export files can be read. */
import { mapAmplitude } from './amplitude.ts'
import { mapGA4 } from './ga4.ts'
import { mapMixpanel } from './mixpanel.ts'
import { mapPostHog } from './posthog.ts'
import type { MapRecord } from './source.ts'
import { mapUmami } from './umami.ts'

/** Adding a tool means adding a line. */
export const SOURCES = {
  amplitude: mapAmplitude,
  ga4: mapGA4,
  mixpanel: mapMixpanel,
  posthog: mapPostHog,
  umami: mapUmami,
} as const satisfies Readonly<Record<string, MapRecord>>

export type SourceName = keyof typeof SOURCES
