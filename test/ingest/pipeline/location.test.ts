/** GeoIP on events and persons, with the real database. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { findGeoipFiles } from '../../../src/geoip.ts'
import { Folder, OTHER_TOKEN, TOKEN } from '../folder.ts'

const PUBLIC = '8.8.8.8'

let folder: Folder
beforeEach(async () => {
  folder = new Folder()
  await folder.open({}, { geoip_files: findGeoipFiles(null) })
})
afterEach(() => folder.remove())

const event = { event: 'seen', distinct_id: 'u' }
const country = () => folder.events().map(({ properties }) => properties['$geoip_country_code'])

describe('an event', () => {
  test('is located by its address, and so is its person, first and last', async () => {
    await folder.send({ ...event, api_key: TOKEN }, { client_ip: PUBLIC })
    expect(folder.events()[0]?.properties).toMatchObject({
      $ip: PUBLIC,
      $geoip_country_code: 'US',
      $geoip_country_name: 'United States',
      $geoip_continent_code: 'NA',
      $geoip_latitude: expect.any(Number),
      $geoip_time_zone: expect.stringContaining('America/'),
    })
    expect(folder.person('u')?.properties).toMatchObject({
      $geoip_country_code: 'US',
      $initial_geoip_country_code: 'US',
      $geoip_postal_code: null,
      $initial_geoip_postal_code: null,
    })
  })

  test.each<[string, object, string | undefined]>([
    ['its own address, not the client’s', { $ip: PUBLIC }, 'US'],
    ['an address that is none', { $ip: 'nowhere' }, undefined],
    ['a number for an address', { $ip: 8 }, undefined],
    ['a private address', { $ip: '192.168.1.1' }, undefined],
    ['the wish not to be', { $ip: PUBLIC, $geoip_disable: true }, undefined],
    ['another value of that wish', { $ip: PUBLIC, $geoip_disable: 'yes' }, 'US'],
  ])('with %s', async (_, properties, code) => {
    await folder.batch({ ...event, properties })
    expect(country()).toEqual([code])
  })

  test('of a project that hides addresses is located and then loses its address', async () => {
    await folder.send({ ...event, api_key: OTHER_TOKEN }, { client_ip: PUBLIC })
    expect(country()).toEqual(['US'])
    expect(folder.events()[0]?.properties).not.toHaveProperty('$ip')
  })

  test('of one batch has its own place', async () => {
    const at = ($ip: string) => ({ ...event, properties: { $ip } })
    await folder.batch(at(PUBLIC), at('10.0.0.1'), at('1.1.1.1'), at(PUBLIC))
    expect(country()).toEqual(['US', undefined, expect.stringMatching(/^[A-Z]{2}$/), 'US'])
  })
})

test('without a database nothing is located', async () => {
  const bare = new Folder()
  await bare.open()
  await bare.send({ ...event, api_key: TOKEN }, { client_ip: PUBLIC })
  expect(Object.keys(bare.events()[0]?.properties ?? {})).toEqual(['$ip'])
  await bare.remove()
})
