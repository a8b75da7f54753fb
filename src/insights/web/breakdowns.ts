/** The breakdowns of web tables. Adding one means adding a line to `webBreakdowns`. */
import type { WebBreakdown } from '../../contract/insights/web.ts'
import type { Expr } from '../../hogql/syntax/ast.ts'
import { expr } from '../../hogql/template.ts'
import { memoizeValue } from '../../memoize.ts'

/** One breakdown of a web table. */
export type WebSplit = {
  /** The value; null for none. */
  readonly value: Expr
  /** A value of each event, or of the session for all of its events. */
  readonly of: 'event' | 'session'
  /** Whether visits without a value have a row. */
  readonly shows_none: boolean
  /** A path, to which the project's cleaning rules apply. */
  readonly is_path?: true
}

const splitByEvent = (value: Expr): WebSplit => ({ value, of: 'event', shows_none: false })
const splitBySession = (value: Expr): WebSplit => ({ value, of: 'session', shows_none: false })
const asPath = (split: WebSplit): WebSplit => ({ ...split, is_path: true })
const splitBySessionOrNone = (value: Expr): WebSplit => ({ value, of: 'session', shows_none: true })

/** Empty values as NULL. */
const nullIfEmpty = (value: Expr): Expr => expr`nullIf(toString(${value}), '')`

/** Empty values as a name, for values that are joined with others. */
const orNone = (value: Expr): Expr => expr`ifNull(${nullIfEmpty(value)}, '(none)')`

/** The breakdowns that have a value. */
export type ValueBreakdown = Exclude<WebBreakdown, 'FrustrationMetrics'>

/** The breakdowns by name; their texts are parsed for the first table. */
export const webBreakdowns = memoizeValue(
  (): Readonly<Record<ValueBreakdown, WebSplit>> => ({
    Browser: splitByEvent(nullIfEmpty(expr`properties.$browser`)),
    City: splitByEvent(
      expr`if(isNull(${nullIfEmpty(expr`properties.$geoip_city_name`)}), NULL,
      tuple(${nullIfEmpty(expr`properties.$geoip_country_code`)}, ${nullIfEmpty(expr`properties.$geoip_city_name`)}))`,
    ),
    Country: splitByEvent(nullIfEmpty(expr`properties.$geoip_country_code`)),
    DeviceType: splitByEvent(nullIfEmpty(expr`properties.$device_type`)),
    ExitClick: splitBySession(nullIfEmpty(expr`session.$last_external_click_url`)),
    ExitPage: asPath(splitBySession(nullIfEmpty(expr`session.$end_pathname`))),
    InitialChannelType: splitBySession(expr`session.$channel_type`),
    InitialPage: asPath(splitBySession(nullIfEmpty(expr`session.$entry_pathname`))),
    InitialReferringDomain: splitBySessionOrNone(
      nullIfEmpty(expr`session.$entry_referring_domain`),
    ),
    InitialUTMCampaign: splitBySessionOrNone(nullIfEmpty(expr`session.$entry_utm_campaign`)),
    InitialUTMContent: splitBySessionOrNone(nullIfEmpty(expr`session.$entry_utm_content`)),
    InitialUTMMedium: splitBySessionOrNone(nullIfEmpty(expr`session.$entry_utm_medium`)),
    InitialUTMSource: splitBySessionOrNone(nullIfEmpty(expr`session.$entry_utm_source`)),
    InitialUTMSourceMediumCampaign: splitBySessionOrNone(
      expr`concat(${orNone(expr`coalesce(${nullIfEmpty(expr`session.$entry_utm_source`)}, session.$entry_referring_domain)`)}, ' / ',
      ${orNone(expr`session.$entry_utm_medium`)}, ' / ', ${orNone(expr`session.$entry_utm_campaign`)})`,
    ),
    InitialUTMTerm: splitBySessionOrNone(nullIfEmpty(expr`session.$entry_utm_term`)),
    Language: splitByEvent(nullIfEmpty(expr`properties.$browser_language`)),
    OS: splitByEvent(nullIfEmpty(expr`properties.$os`)),
    Page: asPath(splitByEvent(nullIfEmpty(expr`properties.$pathname`))),
    PreviousPage: asPath(splitByEvent(nullIfEmpty(expr`properties.$prev_pageview_pathname`))),
    Region: splitByEvent(
      expr`if(isNull(${nullIfEmpty(expr`properties.$geoip_subdivision_1_code`)}), NULL,
      tuple(${nullIfEmpty(expr`properties.$geoip_country_code`)}, ${nullIfEmpty(expr`properties.$geoip_subdivision_1_code`)},
        ${nullIfEmpty(expr`properties.$geoip_subdivision_1_name`)}))`,
    ),
    ScreenName: splitByEvent(nullIfEmpty(expr`properties.$screen_name`)),
    // Browsers send minutes west of UTC, -330 in India; the table has hours east of it, 5.5.
    Timezone: splitByEvent(expr`-toFloat(properties.$timezone_offset) / 60`),
    Viewport: splitByEvent(
      expr`if(isNull(${nullIfEmpty(expr`properties.$viewport_width`)}) or isNull(${nullIfEmpty(expr`properties.$viewport_height`)}), NULL,
      concat(${nullIfEmpty(expr`properties.$viewport_width`)}, 'x', ${nullIfEmpty(expr`properties.$viewport_height`)}))`,
    ),
  }),
)
