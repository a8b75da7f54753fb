/** Settings of a project for a web SDK: which of its features to switch on. */
import type { Project } from '../../projects/settings/project.ts'

/**
 * Old SDKs use lz64, later ones gzip-js; they fall back to plain JSON with a preflight when neither is offered.
 */
const COMPRESSIONS = ['gzip', 'gzip-js', 'lz64']

/**
 * The settings as members of an answer; null where the caller named no project. `origin` is the page's, '' if
 * unknown.
 */
export function siteConfig(
  project: Project | null,
  origin: string,
): Readonly<Record<string, unknown>> {
  const catches_exceptions = project?.autocapture_exceptions_opt_in ?? false
  return {
    config: { enable_collect_everything: true },
    toolbarParams: {},
    isAuthenticated: false,
    supportedCompression: COMPRESSIONS,
    analytics: { endpoint: '/i/v0/e/' },
    elementsChainAsString: true,
    defaultIdentifiedOnly: true,
    siteApps: [],
    autocapture_opt_out: project?.autocapture_opt_out ?? false,
    autocaptureExceptions: catches_exceptions ? { endpoint: '/e/' } : false,
    errorTracking: { autocaptureExceptions: catches_exceptions, suppressionRules: [] },
    capturePerformance: project === null ? false : performanceConfig(project),
    captureDeadClicks: false,
    sessionRecording: project === null ? false : recordingConfig(project, origin),
    surveys: project?.surveys_opt_in ?? false,
    heatmaps: project?.heatmaps_opt_in ?? false,
    flagsPersistenceDefault: project?.flags_persistence_default ?? false,
  }
}

/** The settings as JSON text without braces, to be inserted into an answer. */
export function siteConfigText(project: Project | null, origin: string): string {
  // Only recordings depend on the page's origin, so nearly every project has one text.
  const is_fixed = project !== null && !project.session_recording_opt_in
  const cached = is_fixed ? TEXTS.get(project) : undefined
  if (cached !== undefined) return cached
  const text = JSON.stringify(siteConfig(project, origin)).slice(1, -1)
  if (is_fixed) TEXTS.set(project, text)
  return text
}

/** Texts by project object: a changed project is read again as another object. */
const TEXTS = new WeakMap<Project, string>()

function performanceConfig(project: Project): unknown {
  const network_timing = project.capture_performance_opt_in ?? false
  const web_vitals = project.autocapture_web_vitals_opt_in ?? false
  if (!network_timing && !web_vitals) return false
  const web_vitals_allowed_metrics = project.autocapture_web_vitals_allowed_metrics
  return { network_timing, web_vitals, web_vitals_allowed_metrics }
}

/** The rate for which SDKs expect null: no recording is left out. */
const EVERY_RECORDING = '1.00'

function recordingConfig(project: Project, origin: string): unknown {
  if (!project.session_recording_opt_in || !isRecordedOn(project, origin)) return false
  const replay = asObject(project.session_replay_config)
  const rate = project.session_recording_sample_rate
  return {
    endpoint: '/s/',
    consoleLogRecordingEnabled: project.capture_console_log_opt_in ?? false,
    recorderVersion: 'v2',
    sampleRate: rate === EVERY_RECORDING ? null : rate,
    minimumDurationMilliseconds: project.session_recording_minimum_duration_milliseconds,
    linkedFlag: linkedFlag(asObject(project.session_recording_linked_flag)),
    networkPayloadCapture: project.session_recording_network_payload_capture_config,
    masking: null,
    urlTriggers: [],
    urlBlocklist: [],
    eventTriggers: [],
    triggerMatchType: null,
    scriptConfig: null,
    ...(replay['record_canvas'] === true
      ? { recordCanvas: true, canvasFps: 4, canvasQuality: '0.4' }
      : {}),
  }
}

/** Without a list of domains every page is recorded. Only hosts are compared, as on PostHog: scheme and port may differ. */
function isRecordedOn({ recording_domains }: Project, origin: string): boolean {
  if (!recording_domains?.length || origin === '') return true
  const host = hostOf(origin)
  return host !== '' && recording_domains.some((domain) => matchesHost(hostOf(domain), host))
}

/** Whether a host has the form of a pattern, in which a `*` stands for any text. */
function matchesHost(pattern: string, host: string): boolean {
  if (!pattern.includes('*')) return pattern === host
  const [before = '', after = ''] = pattern.split('*', 2)
  return (
    host.length >= before.length + after.length && host.startsWith(before) && host.endsWith(after)
  )
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).hostname : ''
}

function linkedFlag(flag: Readonly<Record<string, unknown>>): unknown {
  const { key, variant } = flag as { key?: unknown; variant?: unknown }
  if (typeof key !== 'string') return null
  return typeof variant === 'string' ? { flag: key, variant } : key
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
