/** The client's address: what trusted proxies say, and nothing that anyone could have written. */
import { describe, expect, test } from 'bun:test'
import { clientIpFinder } from '../../src/http/callers/client-ip.ts'

const TRUSTED = ['10.0.0.0/8', '2001:db8::/32', '127.0.0.1']

const find = (trusted: readonly string[], socket: string, forwarded?: string): string => {
  const headers = new Headers(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded })
  const request = new Request('http://localhost/', { headers })
  return clientIpFinder(trusted)(request, { requestIP: () => ({ address: socket }), timeout() {} })
}

describe("the client's address", () => {
  test.each([
    ['a caller that is no proxy says what it likes', '1.2.3.4', '9.9.9.9', '1.2.3.4'],
    ['a proxy is believed', '10.1.1.1', '9.9.9.9', '9.9.9.9'],
    ['a proxy that says nothing is the client', '10.1.1.1', undefined, '10.1.1.1'],
    ['proxies are skipped from the end', '10.1.1.1', '9.9.9.9, 10.2.2.2, 127.0.0.1', '9.9.9.9'],
    ['what stands before the client is forged', '10.1.1.1', '6.6.6.6, 9.9.9.9', '9.9.9.9'],
    ['ports are cut', '10.1.1.1', '9.9.9.9:1234', '9.9.9.9'],
    ['brackets are cut', '2001:db8::5', '[2001:1::1]:443', '2001:1::1'],
    ['an IPv4 caller of an IPv6 socket', '::ffff:10.1.1.1', '9.9.9.9', '9.9.9.9'],
    ['junk is ignored', '10.1.1.1', 'junk', '10.1.1.1'],
    ['junk hides what stands before it', '10.1.1.1', '5.5.5.5, junk, 10.0.0.2', '10.0.0.2'],
    ['only proxies: the farthest one', '10.1.1.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['nothing is known', '', '9.9.9.9', ''],
  ])('%s', (_rule, socket, forwarded, ip) => {
    expect(find(TRUSTED, socket, forwarded)).toBe(ip)
  })

  test('without trusted proxies is the socket’s', () => {
    expect(find([], '::ffff:10.1.1.1', '9.9.9.9')).toBe('10.1.1.1')
  })
})
