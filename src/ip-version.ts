/**
 * Tells addresses from other texts, as `isIP` of `node:net` does. Loading that module takes 10 ms of processor time, more
 * than all else that a thread of ingestion loads.
 */

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$/
const GROUP = /^[0-9a-f]{1,4}$/i
/** The network interface of a link-local address. */
const ZONE = /%[0-9a-z\-.:]+$/i
const GROUPS = 8
/** No address is longer: it has eight groups, and a zone as long as the name of an interface. */
const LENGTH_MAX = 1000

/** 4 or 6; 0 for a text that is no address. */
export function ipVersion(text: string): 0 | 4 | 6 {
  if (text.length > LENGTH_MAX) return 0
  if (IPV4.test(text)) return 4
  return isIPv6(text) ? 6 : 0
}

function isIPv6(text: string): boolean {
  const [before = '', after, ...more] = text.replace(ZONE, '').split('::')
  if (more.length > 0) return false
  const groups = [...groupsOf(before), ...groupsOf(after ?? '')]
  // An IPv4 address stands for the last two groups.
  const has_ipv4 = after !== '' && IPV4.test(groups.at(-1) ?? '')
  const hexadecimal = has_ipv4 ? groups.slice(0, -1) : groups
  const count = hexadecimal.length + (has_ipv4 ? 2 : 0)
  const is_complete = after === undefined ? count === GROUPS : count < GROUPS
  return is_complete && hexadecimal.every((group) => GROUP.test(group))
}

const groupsOf = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))
