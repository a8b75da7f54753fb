/** WEB_BREAKDOWNS: what tables of visits are split by, one line per kind (wire §5.8). */
import type { WebBreakdown } from '../contract/insights/web.ts'
import type { Expr } from '../hogql/ast.ts'
import { expr } from './tree.ts'

/** One kind of table. */
export type Split = {
  /** The value of one event; null for what has none. */
  readonly value: Expr
  /** Whether visits without a value stand in the table. */
  readonly shows_none: boolean
}

const shown = (value: Expr): Split => ({ value, shows_none: true })
const known = (value: Expr): Split => ({ value, shows_none: false })

/** What is said nothing about is null. */
const said = (value: Expr): Expr => expr`nullIf(toString(${value}), '')`

const campaign = (value: Expr): Expr => expr`ifNull(${said(value)}, '(none)')`

/** Each visit's own values come from its session, others from the event. */
export const WEB_BREAKDOWNS: { readonly [Kind in WebBreakdown]: Split } = {
  Browser: known(said(expr`properties.$browser`)),
  City: known(
    expr`if(isNull(${said(expr`properties.$geoip_city_name`)}), NULL,
      tuple(${said(expr`properties.$geoip_country_code`)}, ${said(expr`properties.$geoip_city_name`)}))`,
  ),
  Country: known(said(expr`properties.$geoip_country_code`)),
  DeviceType: known(said(expr`properties.$device_type`)),
  ExitClick: known(said(expr`session.$last_external_click_url`)),
  ExitPage: known(said(expr`session.$end_pathname`)),
  InitialChannelType: known(expr`session.$channel_type`),
  InitialPage: known(said(expr`session.$entry_pathname`)),
  InitialReferringDomain: shown(said(expr`session.$entry_referring_domain`)),
  InitialUTMCampaign: shown(said(expr`session.$entry_utm_campaign`)),
  InitialUTMContent: shown(said(expr`session.$entry_utm_content`)),
  InitialUTMMedium: shown(said(expr`session.$entry_utm_medium`)),
  InitialUTMSource: shown(said(expr`session.$entry_utm_source`)),
  InitialUTMSourceMediumCampaign: shown(
    expr`concat(${campaign(expr`session.$entry_utm_source`)}, ' / ',
      ${campaign(expr`session.$entry_utm_medium`)}, ' / ', ${campaign(expr`session.$entry_utm_campaign`)})`,
  ),
  InitialUTMTerm: shown(said(expr`session.$entry_utm_term`)),
  Language: known(said(expr`properties.$browser_language`)),
  OS: known(said(expr`properties.$os`)),
  Page: known(said(expr`properties.$pathname`)),
  PreviousPage: known(said(expr`properties.$prev_pageview_pathname`)),
  Region: known(
    expr`if(isNull(${said(expr`properties.$geoip_subdivision_1_code`)}), NULL,
      tuple(${said(expr`properties.$geoip_country_code`)}, ${said(expr`properties.$geoip_subdivision_1_code`)},
        ${said(expr`properties.$geoip_subdivision_1_name`)}))`,
  ),
  ScreenName: known(said(expr`properties.$screen_name`)),
  Timezone: known(said(expr`properties.$timezone`)),
  Viewport: known(
    expr`if(isNull(${said(expr`properties.$viewport_width`)}) or isNull(${said(expr`properties.$viewport_height`)}), NULL,
      concat(${said(expr`properties.$viewport_width`)}, 'x', ${said(expr`properties.$viewport_height`)}))`,
  ),
}
