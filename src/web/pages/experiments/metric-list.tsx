/** The metrics of an experiment, primary or secondary, each with its result and its form. */

import type { ComponentChildren, VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useSettled } from '../../api/definitions.ts'
import { metricQuery, useMetricResult } from '../../api/targeting/experiments.ts'
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { AnswerAge } from '../../parts/answer/answer-age.tsx'
import { AnswerMenu } from '../../parts/answer/answer-menu.tsx'
import { Button, IconButton } from '../../parts/button.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { Loaded } from '../../parts/notes/loaded.tsx'
import { SkeletonBlock } from '../../parts/notes/skeleton.tsx'
import { useProject } from '../../state/project.tsx'
import type { ChangeOptions } from '../../state/url.ts'
import type { DraftedExperiment } from './experiment-draft.ts'
import sheet from './experiments.module.css'
import { exploreHref } from './explore-links.ts'
import { isWhole, membersOf, metricText, metricTitle, NEW_METRIC, readMetric } from './metric.ts'
import { MetricFields } from './metric-fields.tsx'
import { type ListedMetric, listMetrics } from './metric-order.ts'
import { MetricResult } from './metric-result.tsx'

export type ChangeExperiment = (
  changes: Partial<DraftedExperiment>,
  options?: ChangeOptions,
) => void

type MetricListProps = {
  /** `metrics` has the primary ones. */
  readonly member: 'metrics' | 'secondary'
  /** Null for a new one. */
  readonly experiment: ShownExperiment | null
  readonly draft: DraftedExperiment
  readonly change: ChangeExperiment
  readonly may_edit: boolean
}

/** Draws the section. */
export function MetricList(props: MetricListProps): VNode {
  const { member, experiment, draft, change, may_edit } = props
  const own = draft[member]
  const listed = listMetrics(experiment, draft, member)
  const is_first = member === 'metrics'
  const remove = ({ at, link }: ListedMetric): void =>
    change(
      at === null
        ? { shared: draft.shared.filter((one) => membersOf(one)['id'] !== link) }
        : { [member]: own.toSpliced(at, 1) },
    )
  return (
    <section class={style.card} aria-labelledby={member}>
      <h2 id={member}>{is_first ? 'Primary metrics' : 'Secondary metrics'}</h2>
      {listed.length === 0 && (
        <p class={style.hint}>
          {is_first ? 'What the experiment is decided by.' : 'What must not get worse.'}
        </p>
      )}
      <ul class={style.conditions}>
        {listed.map((one) => (
          <MetricItem
            key={one.key}
            listed={one}
            experiment={experiment}
            may_edit={may_edit}
            onChange={(metric, options) =>
              one.at !== null && change({ [member]: own.with(one.at, metric) }, options)
            }
            onRemove={() => remove(one)}
          />
        ))}
      </ul>
      {may_edit && (
        <Button icon="plus" onClick={() => change({ [member]: [...own, NEW_METRIC] })}>
          Add a {is_first ? 'primary' : 'secondary'} metric
        </Button>
      )}
    </section>
  )
}

type MetricItemProps = Pick<MetricListProps, 'experiment' | 'may_edit'> & {
  readonly listed: ListedMetric
  readonly onChange: (metric: unknown, options?: ChangeOptions) => void
  readonly onRemove: () => void
}

function MetricItem(props: MetricItemProps): VNode {
  const { listed, experiment, may_edit, onChange, onRemove } = props
  const { metric, at, link } = listed
  const title = metricTitle(metric)
  const text = metricText(metric)
  const edited = at === null ? null : readMetric(metric)
  const [is_new] = useState(!isWhole(metric))
  const has_result = experiment !== null && experiment.start_date !== null && isWhole(metric)
  const remove = may_edit && (at !== null || link !== null) && (
    <IconButton icon="trash" label={`Remove ${title}`} onClick={onRemove} />
  )
  return (
    <li aria-label={title}>
      {has_result ? (
        <Measured experiment={experiment} metric={metric} title={title} text={text}>
          {remove}
        </Measured>
      ) : (
        <MetricHead title={title} text={text}>
          {remove}
        </MetricHead>
      )}
      {link !== null && <p class={style.hint}>Shared with other experiments.</p>}
      {may_edit && edited !== null && (
        <details open={is_new}>
          <summary>Edit the metric</summary>
          <MetricFields metric={membersOf(metric)} edited={edited} onChange={onChange} />
        </details>
      )}
    </li>
  )
}

type MetricHeadProps = {
  readonly title: string
  /** The events that it measures, in words. */
  readonly text: string
  readonly children: ComponentChildren
}

function MetricHead({ title, text, children }: MetricHeadProps): VNode {
  return (
    <>
      <header>
        <h3>{title}</h3>
        <div class={sheet.tools}>{children}</div>
      </header>
      {title !== text && <p class={style.hint}>{text}</p>}
    </>
  )
}

type MeasuredProps = MetricHeadProps & {
  readonly experiment: ShownExperiment
  readonly metric: unknown
}

/** A metric with its result. */
function Measured({ experiment, metric, title, text, children }: MeasuredProps): VNode {
  const { timezone } = useProject()
  const picture = useRef<HTMLDivElement>(null)
  // Days are typed: each would be a query.
  const settled = useSettled(JSON.stringify(metric))
  const query = metricQuery(experiment.id, JSON.parse(settled))
  const result = useMetricResult(query)
  const answer = result.isPlaceholderData ? undefined : result.data
  const href = exploreHref(experiment, metric, timezone)
  return (
    <>
      <MetricHead title={title} text={text}>
        <AnswerMenu
          name={title}
          query={query}
          hogql={answer?.hogql}
          picture={picture}
          items={[{ text: 'Open in Explore', icon: 'explore', href }]}
        />
        {children}
      </MetricHead>
      <div ref={picture}>
        <Loaded of={result} skeleton={<SkeletonBlock height={148} />}>
          {(shown) => <MetricResult name={title} answer={shown} goal={membersOf(metric)['goal']} />}
        </Loaded>
      </div>
      <div>
        <AnswerAge query={query} answer={answer} />
      </div>
    </>
  )
}
