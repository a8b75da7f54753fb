/** Addresses and networks: what is one, what is in one, and which of them webhooks may call. */
import { describe, expect, test } from 'bun:test'
import { isNetwork, networksOf, normalizeIp } from '../src/networks.ts'
import { Addresses } from '../src/plugins/addresses.ts'

describe('networks', () => {
  test.each([
    ['10.0.0.1', true],
    ['10.0.0.0/8', true],
    ['2001:db8::/32', true],
    ['10.0.0.0/33', false],
    ['::/129', false],
    ['10.0.0.0/8/8', false],
    ['10.0.0', false],
    ['', false],
  ])('%p is one: %p', (text, is_one) => {
    expect(isNetwork(text)).toBe(is_one)
  })

  test.each([
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:10.0.0.1', '10.0.0.1'],
    ['::ffff:a00:1', '10.0.0.1'],
    ['::ffff:0:a00:1', '::ffff:0:a00:1'],
    ['10.0.0.1', '10.0.0.1'],
    ['2001:1::1', '2001:1::1'],
    ['', ''],
  ])('%p is %p without its wrapping', (ip, plain) => {
    expect(normalizeIp(ip)).toBe(plain)
  })

  test('hold addresses however they are written, and nothing that is none', () => {
    const isIn = networksOf(['10.0.0.0/8', '::1'])
    const found = ['10.1.2.3', '::ffff:10.1.2.3', '::1', '0:0:0:0:0:0:0:1', '11.0.0.1', '', 'x']
    expect(found.map(isIn)).toEqual([true, true, true, true, false, false, false])
  })
})

describe('webhooks', () => {
  const may = (ip: string): boolean => new Addresses().isPublic(ip)

  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '168.63.129.17',
    '::ffff:1.1.1.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])('may call %s', (ip) => {
    expect(may(ip)).toBe(true)
  })

  test.each([
    '168.63.129.16',
    '169.254.169.254',
    '100.100.100.200',
    '192.0.0.192',
    '198.51.100.1',
    '255.255.255.255',
    '::ffff:168.63.129.16',
    '::ffff:0:8.8.8.8',
    '::8.8.8.8',
    '::1',
    '64:ff9b::808:808',
    '64:ff9b:1::808:808',
    '100::1',
    '2001::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:808:808::',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    '2606:4700::1%eth0',
    'fec0::1',
    'ff02::1',
    '',
    'localhost',
  ])('may not call %s', (ip) => {
    expect(may(ip)).toBe(false)
  })

  test('may call what the owner allows, and only that', () => {
    const own = new Addresses(['10.1.0.0/16', 'fd00::/8'])
    const found = ['10.1.2.3', '::ffff:10.1.2.3', 'fd00::1', '10.2.0.1', 'fe80::1']
    expect(found.map((ip) => own.isPublic(ip))).toEqual([true, true, true, false, false])
  })
})
