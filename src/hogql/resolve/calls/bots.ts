/**
 * Bot detection: expands functions over a user agent (`isBot`, `getBotName`, …) to lookups of known
 * names in it.
 */

import { memoizeValue } from '../../../memoize.ts'

type Category =
  | 'ai_assistant'
  | 'ai_crawler'
  | 'ai_search'
  | 'headless_browser'
  | 'http_client'
  | 'monitoring'
  | 'search_crawler'
  | 'seo_crawler'
  | 'social_crawler'

const TYPES = {
  ai_assistant: 'AI Agent',
  ai_crawler: 'AI Agent',
  ai_search: 'AI Agent',
  headless_browser: 'Automation',
  http_client: 'Automation',
  monitoring: 'Bot',
  search_crawler: 'Bot',
  seo_crawler: 'Bot',
  social_crawler: 'Bot',
} as const satisfies Record<Category, string>

/** A substring of the user agent, the bot's name, and its operator. */
type Bot = readonly [token: string, name: string, operator: string]

/** Longer names come before their own prefixes. Adding a bot means adding a line. */
const BOTS = {
  ai_crawler: [
    ['GPTBot', 'GPTBot', 'OpenAI'],
    ['Google-CloudVertexBot', 'Google Cloud Vertex', 'Google'],
    ['Google-Extended', 'Google AI', 'Google'],
    ['GoogleOther', 'GoogleOther', 'Google'],
    ['ClaudeBot', 'Claude', 'Anthropic'],
    ['Claude-Web', 'Claude Web', 'Anthropic'],
    ['anthropic-ai', 'Anthropic', 'Anthropic'],
    ['CCBot', 'Common Crawl', 'Common Crawl'],
    ['meta-externalagent', 'Meta AI', 'Meta'],
    ['Bytespider', 'ByteDance', 'ByteDance'],
    ['TikTokSpider', 'TikTok AI', 'ByteDance'],
    ['cohere-ai', 'Cohere', 'Cohere'],
    ['Diffbot', 'Diffbot', 'Diffbot'],
    ['omgili', 'Webz.io', 'Webz.io'],
    ['Timpibot', 'Timpi', 'Timpi'],
    ['Amazonbot', 'Amazon', 'Amazon'],
    ['PetalBot', 'Petal', 'Huawei'],
  ],
  ai_search: [
    ['OAI-SearchBot', 'OpenAI Search', 'OpenAI'],
    ['Claude-SearchBot', 'Claude Search', 'Anthropic'],
    ['PerplexityBot', 'Perplexity', 'Perplexity'],
    ['Applebot-Extended', 'Apple AI', 'Apple'],
    ['Applebot/', 'Applebot', 'Apple'],
  ],
  ai_assistant: [
    ['ChatGPT-User', 'ChatGPT', 'OpenAI'],
    ['Claude-User', 'Claude User', 'Anthropic'],
    ['Perplexity-User', 'Perplexity User', 'Perplexity'],
    ['meta-externalfetcher', 'Meta Fetcher', 'Meta'],
    ['Meta-ExternalFetcher', 'Meta Fetcher', 'Meta'],
    ['DuckAssistBot', 'DuckDuckGo AI', 'DuckDuckGo'],
    ['MistralAI-User', 'Mistral AI', 'Mistral'],
    ['Google-NotebookLM', 'NotebookLM', 'Google'],
  ],
  search_crawler: [
    ['Googlebot', 'Googlebot', 'Google'],
    ['AdsBot-Google', 'Google Ads', 'Google'],
    ['Google-InspectionTool', 'Google Inspection', 'Google'],
    ['bingbot', 'Bingbot', 'Microsoft'],
    ['Bingbot', 'Bingbot', 'Microsoft'],
    ['YandexBot', 'Yandex', 'Yandex'],
    ['Baiduspider', 'Baidu', 'Baidu'],
    ['DuckDuckBot', 'DuckDuckGo', 'DuckDuckGo'],
    ['Slurp', 'Yahoo', 'Yahoo'],
    ['Yeti/', 'Naver', 'Naver'],
    ['Sogou web spider', 'Sogou', 'Sogou'],
    ['360Spider', '360 Spider', 'Qihoo 360'],
    ['Qwantbot', 'Qwant', 'Qwant'],
    ['YouBot', 'You.com', 'You.com'],
    ['archive.org_bot', 'Internet Archive', 'Internet Archive'],
  ],
  seo_crawler: [
    ['AhrefsSiteAudit', 'Ahrefs Site Audit', 'Ahrefs'],
    ['AhrefsBot', 'Ahrefs', 'Ahrefs'],
    ['SemrushBot', 'Semrush', 'Semrush'],
    ['SiteAuditBot', 'Semrush Site Audit', 'Semrush'],
    ['MJ12bot', 'Majestic', 'Majestic'],
    ['DotBot', 'Moz', 'Moz'],
    ['rogerbot', 'Moz Rogerbot', 'Moz'],
    ['Barkrowler', 'Barkrowler', 'Babbar'],
    ['DataForSeoBot', 'DataForSeo', 'DataForSeo'],
    ['Chrome-Lighthouse', 'Lighthouse', 'Google'],
    ['Screaming Frog SEO Spider', 'Screaming Frog', 'Screaming Frog'],
  ],
  social_crawler: [
    ['facebookexternalhit', 'Facebook', 'Meta'],
    ['FacebookBot', 'Facebook Bot', 'Meta'],
    ['Twitterbot', 'Twitter', 'X'],
    ['LinkedInBot', 'LinkedIn', 'LinkedIn'],
    ['Pinterestbot', 'Pinterest', 'Pinterest'],
    ['Slackbot', 'Slack', 'Salesforce'],
    ['TelegramBot', 'Telegram', 'Telegram'],
    ['WhatsApp/', 'WhatsApp', 'Meta'],
    ['Discordbot', 'Discord', 'Discord'],
    ['redditbot', 'Reddit', 'Reddit'],
    ['SkypeUriPreview', 'Skype Preview', 'Microsoft'],
  ],
  monitoring: [
    ['Pingdom', 'Pingdom', 'SolarWinds'],
    ['UptimeRobot', 'UptimeRobot', 'UptimeRobot'],
    ['Site24x7', 'Site24x7', 'Zoho'],
    ['StatusCake', 'StatusCake', 'StatusCake'],
    ['Datadog', 'Datadog', 'Datadog'],
    ['GoogleStackdriverMonitoring', 'Google Monitoring', 'Google'],
    ['Better Uptime Bot', 'Better Stack', 'Better Stack'],
  ],
  headless_browser: [
    ['HeadlessChrome', 'Headless Chrome', ''],
    ['PhantomJS', 'PhantomJS', ''],
    ['Puppeteer', 'Puppeteer', ''],
    ['Playwright', 'Playwright', ''],
    ['Selenium', 'Selenium', ''],
    ['Cypress', 'Cypress', ''],
  ],
  http_client: [
    ['curl/', 'curl', ''],
    ['Wget/', 'Wget', ''],
    ['python-requests', 'Python Requests', ''],
    ['Python-urllib', 'Python urllib', ''],
    ['python-httpx', 'HTTPX', ''],
    ['aiohttp', 'aiohttp', ''],
    ['Scrapy', 'Scrapy', ''],
    ['Go-http-client', 'Go HTTP Client', ''],
    ['axios/', 'axios', ''],
    ['node-fetch', 'node-fetch', ''],
    ['undici', 'undici', ''],
    ['okhttp', 'OkHttp', ''],
    ['Apache-HttpClient', 'Apache HttpClient', ''],
    ['Java/', 'Java', ''],
    ['libwww-perl', 'libwww-perl', ''],
    ['PostmanRuntime', 'Postman', 'Postman'],
    ['insomnia/', 'Insomnia', 'Kong'],
    ['GuzzleHttp', 'Guzzle', ''],
    ['Faraday', 'Faraday', ''],
  ],
} as const satisfies Record<Category, readonly Bot[]>

type BotLine = { readonly token: string; readonly labels: Readonly<Record<Label, string>> }
type Label = 'category' | 'name' | 'operator' | 'type'

const LINES: readonly BotLine[] = Object.entries(BOTS).flatMap(([category, bots]) =>
  bots.map(([token, name, operator]) => ({
    token,
    labels: { category, name, operator, type: TYPES[category as Category] },
  })),
)

const quoteText = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const printList = (texts: readonly string[]): string => `[${texts.map(quoteText).join(', ')}]`

const printPattern = memoizeValue(() =>
  quoteText(LINES.map(({ token }) => token.replace(/[.+*?()|[\]\\^$]/g, '\\$&')).join('|')),
)
const printTokens = memoizeValue(() => printList(LINES.map(({ token }) => token)))

/** The label of the first match; a missing or empty user agent counts as a program too. */
function labelled(label: Label, otherwise: string, without: string): () => string {
  return () => {
    const labels = printList(LINES.map(({ labels: all }) => all[label]))
    return `if(ifNull({a}, '') = '', ${quoteText(without)},
    transform(extract(ifNull({a}, ''), ${printPattern()}), ${printTokens()}, ${labels}, ${quoteText(otherwise)}))`
  }
}

/** The functions over a user agent: names, arity, and the HogQL each expands to, printed for the first call. */
export const BOT_CALLS: readonly (readonly [string, string, () => string])[] = [
  ['getTrafficType', '1', labelled('type', 'Regular', 'Automation')],
  ['getTrafficCategory', '1', labelled('category', 'regular', 'no_user_agent')],
  ['getBotType', '1', labelled('category', '', 'no_user_agent')],
  ['getBotName', '1', labelled('name', '', '')],
  ['getBotOperator', '1', labelled('operator', '', '')],
  [
    'isLikelyBot',
    '1',
    () => `toBool(ifNull({a}, '') = '' or match(ifNull({a}, ''), ${printPattern()}))`,
  ],
]
