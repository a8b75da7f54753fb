/** Channel types: the rules that map a session's sources, media and click ids to a channel, in HogQL. */

const MAIL = 'e[ _-]?mail|newsletter|mailchimp|sendgrid|klaviyo'
const MAIL_APPS = 'mail\\\\.(google|aol|yahoo)|android\\\\.gm|gmail|mobilemail|outlook|proton'
const SHOPPING = 'amazon|ebay|etsy|shopify|alibaba|aliexpress|walmart|stripe|shopping'
const VIDEO = 'youtube|vimeo|twitch|dailymotion|netflix|hulu'
const SOCIAL =
  'facebook|instagram|twitter|linkedin|reddit|pinterest|tiktok|snapchat|threads|mastodon|bsky|bluesky|quora|tumblr|vk|weibo|whatsapp|telegram|discord|hacker-?news|news\\\\.ycombinator|(plus|groups)\\\\.google|t\\\\.co$|x\\\\.com$|lnkd\\\\.in|^(fb|ig)$|(fb|ig)\\\\.me'
const SEARCH =
  'google|bing|duckduckgo|yahoo|baidu|yandex|ecosia|qwant|naver|startpage|kagi|sogou|seznam|brave'

type ChannelWords = {
  /** A regular expression, for use inside a HogQL string. */
  readonly words: string
  /** The channel when paid for; null if nothing of it is. */
  readonly paid: string | null
  readonly organic: string
}

/**
 * Channels by a source or a referring domain that has one of the words, first match first: an
 * address of mail or shops counts before the search engine whose name it has too.
 */
export const SOURCES: readonly (ChannelWords & { readonly type: string })[] = [
  { type: 'Email', words: `${MAIL}|${MAIL_APPS}`, paid: null, organic: 'Email' },
  { type: 'SMS', words: 'sms', paid: null, organic: 'SMS' },
  ...(
    [
      ['Shopping', SHOPPING],
      ['Video', VIDEO],
      ['Social', SOCIAL],
      ['Search', SEARCH],
    ] as const
  ).map(([type, words]) => ({ type, words, paid: `Paid ${type}`, organic: `Organic ${type}` })),
]

/** Channels by the whole medium. */
export const MEDIUMS: readonly ChannelWords[] = [
  { words: 'social([ -](network|media))?|sm', paid: 'Paid Social', organic: 'Organic Social' },
  { words: 'video', paid: 'Paid Video', organic: 'Organic Video' },
  { words: MAIL, paid: null, organic: 'Email' },
  { words: 'affiliates?|partnerships?', paid: null, organic: 'Affiliate' },
  { words: 'display|banner|expandable|interstitial|cpm', paid: 'Display', organic: 'Display' },
  { words: 'audio', paid: null, organic: 'Audio' },
  { words: 'sms', paid: null, organic: 'SMS' },
  { words: 'push|mobile|notification', paid: null, organic: 'Push' },
  { words: 'referral|app|link', paid: null, organic: 'Referral' },
]

/** The text of a column; NULL if it is empty or *null*, which templates of addresses leave behind. */
const textOf = (column: string): string =>
  `_lower(nullIf(nullIf(toString(\`${column}\`), ''), 'null'))`

const source = textOf('$entry_utm_source')
const medium = textOf('$entry_utm_medium')
const campaign = textOf('$entry_utm_campaign')
const gclid = textOf('$entry_gclid')
const gad_source = textOf('$entry_gad_source')
const domain = '`$entry_referring_domain`'
const from_facebook = `${textOf('$entry_fbclid')} IS NOT NULL`
const is_shopping = `match(${campaign}, '([^a-df-z]|^)shop|shopping')`

const isPaid = [
  `${medium} IN ('cpc', 'cpm', 'cpv', 'cpa', 'ppc', 'retargeting')`,
  `startsWith(${medium}, 'paid')`,
  `${gclid} IS NOT NULL`,
  `${gad_source} IS NOT NULL`,
].join(' or ')

/** A session without a referring domain, as of a server's events, is not direct: how it came is unknown. */
const isDirect = [
  `${domain} = '$direct'`,
  `${medium} IS NULL`,
  `(${source} IS NULL or ${source} IN ('(direct)', 'direct', '$direct'))`,
  `not (${from_facebook})`,
].join(' and ')

/** The HogQL of a session's `$channel_type`: sources first, then media, then the referring domain. */
export function channelType(): string {
  return `multiIf(
    match(${campaign}, 'cross-network'), 'Cross Network',
    ${isPaid}, coalesce(
      lookupPaidSourceType(${source}),
      if(${is_shopping}, 'Paid Shopping', NULL),
      lookupPaidMediumType(${medium}),
      lookupPaidSourceType(${domain}),
      multiIf(
        ${gad_source} = '1', 'Paid Search',
        match(${campaign}, 'video'), 'Paid Video',
        ${from_facebook}, 'Paid Social',
        'Paid Unknown')),
    ${isDirect}, 'Direct',
    coalesce(
      lookupOrganicSourceType(${source}),
      if(${is_shopping}, 'Organic Shopping', NULL),
      lookupOrganicMediumType(${medium}),
      lookupOrganicSourceType(${domain}),
      multiIf(
        match(${campaign}, 'video'), 'Organic Video',
        match(${medium}, 'push$'), 'Push',
        ${from_facebook}, 'Organic Social',
        ${domain} = '$direct', 'Direct',
        ${domain} IS NOT NULL, 'Referral',
        'Unknown')))`
}
