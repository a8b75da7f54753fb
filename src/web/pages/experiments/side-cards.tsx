/** Beside an experiment: who has been exposed to which variant, and what it is made of. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import {
  type ExposedVariant,
  exposureQuery,
  useExposures,
} from '../../api/targeting/experiments.ts'
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { AnswerAge } from '../../parts/answer/answer-age.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { formatMoment, formatNumber, formatPercent } from '../../parts/format.ts'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { SideScroll } from '../../parts/side-scroll.tsx'
import table from '../../parts/table.module.css'
import { useProject } from '../../state/project.tsx'
import own from './experiments.module.css'
import { callsHref } from './explore-links.ts'
import { membersOf, nodeTitle } from './metric.ts'

type CardProps = { readonly experiment: ShownExperiment }

/** The exposed persons by variant, beside the shares that the flag gives. */
export function ExposuresCard({ experiment }: CardProps): VNode {
  const { timezone } = useProject()
  const query = exposureQuery(experiment.id)
  const exposures = useExposures(query)
  return (
    <section class={style.card} aria-labelledby="exposures">
      <h2 id="exposures">Exposures</h2>
      <Loaded of={exposures} skeleton={<SkeletonBlock height={132} />}>
        {({ results }) => <ExposureTable experiment={experiment} lines={results} />}
      </Loaded>
      <div class={style.actions}>
        <ButtonLink href={callsHref(experiment, timezone)} icon="explore">
          Calls in Explore
        </ButtonLink>
        <AnswerAge query={query} answer={exposures.data} />
      </div>
    </section>
  )
}

type ExposureTableProps = CardProps & { readonly lines: readonly ExposedVariant[] }

function ExposureTable({ experiment, lines }: ExposureTableProps): VNode {
  const persons = lines.map((line) => ({
    key: line.variant,
    count: line.exposure_counts.at(-1) ?? 0,
  }))
  const total = persons.reduce((sum, { count }) => sum + count, 0)
  const shares = sharesOf(experiment)
  return (
    <div class={own.exposures}>
      {total === 0 && <p class={style.hint}>Nobody yet. {exposureText(experiment)}</p>}
      <SideScroll label="Exposed persons">
        <table class={`${table.table} ${own.figures}`} style={{ '--row': '40px' }}>
          <thead>
            <tr>
              <th scope="col">Variant</th>
              <th scope="col">Persons</th>
              <th scope="col">Share</th>
              <th scope="col">Flag</th>
            </tr>
          </thead>
          <tbody>
            {persons.map(({ key, count }) => (
              <tr key={key}>
                <th scope="row">{key === MULTIPLE ? 'Several variants' : key}</th>
                <td>{formatNumber(count)}</td>
                <td>{total === 0 ? '–' : formatPercent(count / total)}</td>
                <td>{shares.has(key) ? `${shares.get(key)}%` : '–'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </SideScroll>
    </div>
  )
}

/** By which event a person takes part: the flag's calls, or what the API has set. */
function exposureText({ exposure_criteria, feature_flag_key }: ShownExperiment): string {
  const { exposure_config: config } = membersOf(exposure_criteria)
  if (!config || membersOf(config)['event'] === '$feature_flag_called')
    return `A person counts from the first event “Flag called” of ${feature_flag_key}, which SDKs send when your code asks for the flag.`
  return `A person counts from the first event “${nodeTitle(config)}” that has the property $feature/${feature_flag_key}.`
}

/** The server's name for persons who were shown several variants. */
const MULTIPLE = '$multiple'

/** The shares of a flag's variants in percent. */
function sharesOf({ feature_flag }: ShownExperiment): ReadonlyMap<string, string> {
  const { variants } = membersOf(feature_flag?.filters?.['multivariate'])
  const list: readonly unknown[] = Array.isArray(variants) ? variants : []
  return new Map(
    list.map((variant) => {
      const { key, rollout_percentage } = membersOf(variant)
      return [String(key), formatNumber(Number(rollout_percentage))]
    }),
  )
}

/** Its flag, its variants while there are no exposures, its times. */
export function FactsCard({ experiment }: CardProps): VNode {
  const { timezone } = useProject()
  const { feature_flag: flag, feature_flag_key: key, start_date, end_date, created_at } = experiment
  const shares = [...sharesOf(experiment)].map(([variant, share]) => `${variant} ${share}%`)
  return (
    <section class={style.card} aria-labelledby="facts">
      <h2 id="facts">Flag and times</h2>
      <dl class={style.facts}>
        <Fact name="Flag">
          {flag === null || flag.deleted ? (
            `${key}${flag?.deleted ? ' (deleted)' : ''}`
          ) : (
            <Link href={`/flags/${flag.id}`}>{key}</Link>
          )}
        </Fact>
        {flag !== null && !flag.deleted && <Fact name="It is">{flag.active ? 'on' : 'off'}</Fact>}
        {shares.length > 0 && <Fact name="Variants">{shares.join(', ')}</Fact>}
        <Fact name="Created">{formatMoment(created_at, timezone)}</Fact>
        {start_date !== null && <Fact name="Launched">{formatMoment(start_date, timezone)}</Fact>}
        {end_date !== null && <Fact name="Ended">{formatMoment(end_date, timezone)}</Fact>}
      </dl>
    </section>
  )
}

type ExperimentFactProps = { readonly name: string; readonly children: VNode | string }

function Fact({ name, children }: ExperimentFactProps): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
