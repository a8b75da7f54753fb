/** Addresses are located with DB-IP's database as packaged, and with one in MaxMind's shape made here. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findGeoipFiles, flagGeoip, openGeoip } from '../src/geoip.ts'

const folder = mkdtempSync(join(tmpdir(), 'geoip-'))
afterAll(() => rmSync(folder, { recursive: true }))

type Field = number | string | Field[] | { [key: string]: Field }

/** One value in MaxMind's format: type and length in the control byte(s), then the bytes. */
function encode(value: Field): number[] {
  if (typeof value === 'string') {
    const bytes = [...new TextEncoder().encode(value)]
    return [...control(2, bytes.length), ...bytes]
  }
  if (typeof value === 'number') {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setFloat64(0, value)
    return [...control(3, 8), ...bytes]
  }
  if (Array.isArray(value)) return [...extended(11, value.length), ...value.flatMap(encode)]
  const entries = Object.entries(value)
  return [
    ...control(7, entries.length),
    ...entries.flatMap(([key, own]) => [...encode(key), ...encode(own)]),
  ]
}

const control = (type: number, length: number): number[] =>
  length < 29 ? [(type << 5) | length] : [(type << 5) | 29, length - 29]

const extended = (type: number, length: number): number[] => [length, type - 7]

function encodeUint(value: number): number[] {
  return [...control(6, 4), value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]
}

/** A database that knows one IPv4 address: a chain of 32 nodes, with the record at the end of the address's path. */
function writeDatabase(name: string, address: string, record: Field): string {
  const bits = address
    .split('.')
    .flatMap((part) => Number(part).toString(2).padStart(8, '0').split(''))
  const node_count = bits.length
  const nodes = bits.flatMap((bit, index) => {
    const next = index + 1 < node_count ? index + 1 : node_count + 16
    const sides = bit === '0' ? [next, node_count] : [node_count, next]
    return sides.flatMap((side) => [side >>> 16, (side >>> 8) & 255, side & 255])
  })
  const numbers = {
    node_count,
    record_size: 24,
    ip_version: 4,
    binary_format_major_version: 2,
    build_epoch: 1,
  }
  const metadata = [
    ...control(7, Object.keys(numbers).length + 1),
    ...Object.entries(numbers).flatMap(([key, value]) => [...encode(key), ...encodeUint(value)]),
    ...encode('database_type'),
    ...encode('Test-City'),
  ]
  const marker = [0xab, 0xcd, 0xef, ...new TextEncoder().encode('MaxMind.com')]
  const separator = Array.from({ length: 16 }, () => 0)
  const path = join(folder, name)
  writeFileSync(
    path,
    new Uint8Array([...nodes, ...separator, ...encode(record), ...marker, ...metadata]),
  )
  return path
}

describe("DB-IP's packaged database", () => {
  const geoip = openGeoip(findGeoipFiles(null))

  test('locates an IPv4 address and derives what it lacks: names, continent, time zone', () => {
    expect(geoip.lookup('89.160.20.129')).toEqual({
      $geoip_city_name: 'Stockholm',
      $geoip_country_name: 'Sweden',
      $geoip_country_code: 'SE',
      $geoip_continent_name: 'Europe',
      $geoip_continent_code: 'EU',
      $geoip_latitude: 59.332698822021484,
      $geoip_longitude: 18.06559944152832,
      $geoip_time_zone: 'Europe/Stockholm',
      $geoip_subdivision_1_name: 'Stockholm',
    })
  })

  test('tells the time zone by the place where a country has several', () => {
    expect(geoip.lookup('8.8.8.8')?.['$geoip_time_zone']).toBe('America/Los_Angeles')
    expect(geoip.lookup('8.8.8.8')?.['$geoip_country_name']).toBe('United States')
  })

  test('locates an IPv6 address by its own tree', () => {
    expect(geoip.lookup('2a02:908::1')?.['$geoip_country_code']).toBe('DE')
  })

  test('takes an IPv4 address in IPv6 spelling for what it is', () => {
    expect(geoip.lookup('::FFFF:89.160.20.129')).toEqual(geoip.lookup('89.160.20.129'))
  })

  test.each([
    '127.0.0.1',
    '10.1.2.3',
    '192.168.0.1',
    '::1',
    'fe80::1',
    '',
    'localhost',
    '1.2.3',
    '1.2.3.4.5',
    'x'.repeat(10_000),
  ])('knows nothing about %p', (ip) => {
    expect(geoip.lookup(ip)).toBeNull()
    expect(geoip.lookup(ip)).toBeNull()
  })

  test('gives flags the seven properties of the interface and no others', () => {
    expect(flagGeoip(geoip.lookup('89.160.20.129'))).toEqual({
      $geoip_city_name: 'Stockholm',
      $geoip_country_name: 'Sweden',
      $geoip_country_code: 'SE',
      $geoip_continent_name: 'Europe',
      $geoip_continent_code: 'EU',
      $geoip_time_zone: 'Europe/Stockholm',
    })
    expect(flagGeoip(null)).toEqual({})
  })
})

describe("a database in MaxMind's shape", () => {
  const path = writeDatabase('city.mmdb', '89.160.20.129', {
    city: { names: { en: 'Linköping', de: 'Linköping' }, confidence: 50 },
    country: { names: { en: 'Sweden' }, iso_code: 'SE', confidence: 99 },
    continent: { names: { en: 'Europe' }, code: 'EU' },
    postal: { code: '582 22', confidence: 40 },
    location: {
      latitude: 58.4167,
      longitude: 15.6167,
      accuracy_radius: 76,
      time_zone: 'Europe/Stockholm',
    },
    subdivisions: [
      { iso_code: 'E', names: { en: 'Östergötland County' } },
      { iso_code: 'X', names: { de: 'nur deutsch' } },
    ],
  })

  test('gives everything it has', () => {
    expect(openGeoip([path]).lookup('89.160.20.129')).toEqual({
      $geoip_city_name: 'Linköping',
      $geoip_city_confidence: 50,
      $geoip_country_name: 'Sweden',
      $geoip_country_code: 'SE',
      $geoip_country_confidence: 99,
      $geoip_continent_name: 'Europe',
      $geoip_continent_code: 'EU',
      $geoip_postal_code: '582 22',
      $geoip_postal_code_confidence: 40,
      $geoip_latitude: 58.4167,
      $geoip_longitude: 15.6167,
      $geoip_accuracy_radius: 76,
      $geoip_time_zone: 'Europe/Stockholm',
      $geoip_subdivision_1_code: 'E',
      $geoip_subdivision_1_name: 'Östergötland County',
      $geoip_subdivision_2_code: 'X',
    })
  })

  test('is not asked about addresses it has no tree for', () => {
    expect(openGeoip([path]).lookup('89.160.20.130')).toBeNull()
    expect(openGeoip([path]).lookup('2a02:908::1')).toBeNull()
  })

  test('at the path the owner sets is the only one used', () => {
    expect(findGeoipFiles(path)).toEqual([path])
    expect(() => findGeoipFiles(join(folder, 'nowhere.mmdb'))).toThrow(
      'There is no GeoIP database at',
    )
    expect(findGeoipFiles(folder)).toEqual([])
  })

  test('with a record of unexpected shape locates no place', () => {
    const odd = writeDatabase('odd.mmdb', '1.2.3.4', {
      city: 'Paris',
      country: ['FR'],
      location: 5,
    })
    expect(openGeoip([odd]).lookup('1.2.3.4')).toEqual({})
  })
})

describe('without a database', () => {
  test('every lookup answers null', () => {
    expect(openGeoip([]).lookup('89.160.20.129')).toBeNull()
  })

  test('a file that is none is refused at once', () => {
    const path = join(folder, 'junk.mmdb')
    writeFileSync(path, 'this is no database')
    expect(() => openGeoip([path])).toThrow('cannot be read as a MaxMind database')
  })
})
