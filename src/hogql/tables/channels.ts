/** Channel types: the rules that map a session's sources, media and click ids to a channel, in HogQL. */

const SEARCH =
  'google|bing|duckduckgo|yahoo|baidu|yandex|ecosia|qwant|naver|startpage|kagi|sogou|seznam|brave'
const SOCIAL =
  'facebook|instagram|twitter|linkedin|reddit|pinterest|tiktok|snapchat|threads|mastodon|bsky|bluesky|quora|tumblr|vk|weibo|whatsapp|telegram|discord|hacker-?news|news\\\\.ycombinator'
const VIDEO = 'youtube|vimeo|twitch|dailymotion|netflix|hulu'
const SHOPPING = 'amazon|ebay|etsy|shopify|alibaba|aliexpress|walmart|shopping'
const MAIL = 'e-?mail|newsletter|mailchimp|sendgrid|klaviyo'

/** Channels by source, first match first: regular expressions, for use inside a HogQL string. */
export const SOURCE_WORDS = [
  ['Search', SEARCH],
  ['Video', VIDEO],
  ['Shopping', SHOPPING],
  ['Social', SOCIAL],
] as const

/** Channels by medium: words, and the channel when paid for and when not. */
export const MEDIUMS: readonly {
  readonly words: string
  readonly paid: string | null
  readonly organic: string | null
}[] = [
  { words: 'social(-network|-media)?|sm', paid: 'Paid Social', organic: 'Organic Social' },
  { words: 'video', paid: 'Paid Video', organic: 'Organic Video' },
  { words: MAIL, paid: null, organic: 'Email' },
  { words: 'affiliates?', paid: null, organic: 'Affiliate' },
  { words: 'display|banner|expandable|interstitial|cpm', paid: 'Display', organic: 'Display' },
  { words: 'audio', paid: null, organic: 'Audio' },
  { words: 'sms', paid: null, organic: 'SMS' },
  { words: 'push|mobile|notification', paid: null, organic: 'Push' },
  { words: 'referral|app|link', paid: null, organic: 'Referral' },
]

const source = "_lower(coalesce(`$entry_utm_source`, `$entry_referring_domain`, ''))"
const medium = "_lower(coalesce(`$entry_utm_medium`, ''))"
const campaign = "_lower(coalesce(`$entry_utm_campaign`, ''))"

/** Whether one of the words is part of the source: `m.facebook.com`, `t.co`. */
const names = (words: string): string =>
  `match(${source}, '(^|[^a-z])(${words})([^a-z]|$)')${words === SOCIAL ? ` or ${source} IN ('t.co', 'fb', 'ig', 'x.com', 'lnkd.in')` : ''}`

const isPaid = [
  `${medium} IN ('cpc', 'cpm', 'cpv', 'cpa', 'ppc', 'retargeting')`,
  `startsWith(${medium}, 'paid')`,
  '`$entry_gclid` IS NOT NULL',
  '`$entry_gad_source` IS NOT NULL',
].join(' or ')

const isDirect = [
  "(`$entry_referring_domain` IS NULL or `$entry_referring_domain` = '$direct')",
  `${medium} IN ('', '(none)', '(not set)')`,
  "_lower(coalesce(`$entry_utm_source`, '')) IN ('', 'direct', '(direct)')",
  '`$entry_fbclid` IS NULL',
].join(' and ')

/** The HogQL of a session's `$channel_type`. */
export function channelType(): string {
  const paid = SOURCE_WORDS.map(([name, words]) => `${names(words)}, 'Paid ${name}'`)
  const organic = SOURCE_WORDS.map(([name, words]) => `${names(words)}, 'Organic ${name}'`)
  return `multiIf(
    match(${campaign}, 'cross-network'), 'Cross Network',
    ${isPaid}, multiIf(
      ${paid.join(', ')},
      match(${campaign}, '(^|[^a-z])shop|shopping'), 'Paid Shopping',
      ${medium} LIKE '%video%', 'Paid Video',
      ${medium} LIKE '%social%', 'Paid Social',
      \`$entry_gclid\` IS NOT NULL or \`$entry_gad_source\` = '1', 'Paid Search',
      'Paid Unknown'),
    ${isDirect}, 'Direct',
    match(concat(${source}, ' ', ${medium}), '(^|[^a-z])(${MAIL})([^a-z]|$)'), 'Email',
    ${medium} IN ('affiliate', 'affiliates'), 'Affiliate',
    ${medium} IN ('display', 'banner', 'expandable', 'interstitial'), 'Display',
    ${medium} = 'audio', 'Audio',
    ${medium} = 'sms' or ${source} = 'sms', 'SMS',
    ${medium} IN ('push', 'mobile', 'notification'), 'Push',
    ${organic.join(', ')},
    ${medium} LIKE '%video%', 'Organic Video',
    ${medium} IN ('social', 'social-network', 'social-media', 'sm') or \`$entry_fbclid\` IS NOT NULL, 'Organic Social',
    \`$entry_referring_domain\` IS NOT NULL and \`$entry_referring_domain\` != '$direct', 'Referral',
    'Unknown')`
}
