/** A map of the world; a darker country has a higher count. For keyboards another tab has the same rows as a table. */
import type { VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { formatNumber } from '../../format.ts'
import style from './world-map.module.css'
import { countryShapes, MAP_HEIGHT, MAP_WIDTH } from './world-shapes.ts'

type MapCountry = {
  /** ISO 3166-1, two letters. */
  readonly code: string
  readonly name: string
  readonly value: number
}

type WorldMapProps = {
  readonly label: string
  /** The noun of the counts: `visitors`. */
  readonly unit: string
  readonly countries: readonly MapCountry[]
  readonly onPick: (country: MapCountry) => void
}

const SPOKEN_MAX = 5
const SHARE_MIN = 0.18

/** Draws the map; below it the country under the pointer, or the countries that the map lacks. */
export function WorldMap({ label, unit, countries, onPick }: WorldMapProps): VNode {
  const shapes = useMemo(countryShapes, [])
  const [pointed, setPointed] = useState<string | null>(null)
  const by_code = new Map(countries.map((country) => [country.code, country]))
  const largest = Math.max(1, ...countries.map(({ value }) => value))
  const spoken = countries
    .slice(0, SPOKEN_MAX)
    .map(({ name, value }) => `${name} ${formatNumber(value)}`)
  const shown = new Set(shapes.map(({ code }) => code))
  const missing = countries.filter(({ code }) => !shown.has(code))
  const country = by_code.get(pointed ?? '')
  return (
    <figure class={style.map}>
      <svg
        viewBox={`0 0 ${MAP_WIDTH} ${MAP_HEIGHT}`}
        role="img"
        aria-label={`${label}: ${spoken.join(', ')}`}
        onPointerLeave={() => setPointed(null)}
      >
        {shapes.map(({ code, path }) => {
          const visited = by_code.get(code)
          return (
            <path
              key={path}
              d={path}
              data-country={code}
              class={visited && style.visited}
              {...(visited && {
                style: { fill: shade(visited.value / largest) },
                onClick: () => onPick(visited),
              })}
              onPointerEnter={() => setPointed(code)}
            />
          )
        })}
      </svg>
      <figcaption>
        {country === undefined ? (
          <Scale largest={largest} unit={unit} missing={missing} />
        ) : (
          <>
            <b>{country.name}</b> {formatNumber(country.value)} {unit}
          </>
        )}
      </figcaption>
    </figure>
  )
}

/** The square root of the share, so that a few look different from none. */
function shade(share: number): string {
  const percent = Math.round(100 * (SHARE_MIN + (1 - SHARE_MIN) * Math.sqrt(share)))
  return `color-mix(in oklab, var(--accent) ${percent}%, var(--map-land))`
}

type ScaleProps = {
  readonly largest: number
  readonly unit: string
  readonly missing: readonly MapCountry[]
}

const MISSING_NAMED = 3

function Scale({ largest, unit, missing }: ScaleProps): VNode {
  const names = missing.slice(0, MISSING_NAMED).map(({ name }) => name)
  const others = missing.length - names.length
  return (
    <>
      1 <i class={style.scale} aria-hidden="true" />
      <span class="unseen">to</span> {formatNumber(largest)} {unit}
      {names.length > 0 && (
        <span class={style.missing} title={missing.map(({ name }) => name).join(', ')}>
          Not on the map: {names.join(', ')}
          {others > 0 && ` and ${others} more`}
        </span>
      )}
    </>
  )
}
