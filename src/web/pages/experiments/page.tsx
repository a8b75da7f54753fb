/** Experiments: the list, a new one at `/experiments/new`, one at `/experiments/:id`. */
import type { VNode } from 'preact'
import { Link, useRoute } from 'wouter-preact'
import {
  type ExperimentsShown,
  metricQuery,
  useExperiments,
  useMetricResult,
} from '../../api/targeting/experiments.ts'
import type { ShownExperiment } from '../../api/types/shown-experiment.ts'
import { Ago } from '../../parts/ago.tsx'
import { ButtonLink } from '../../parts/button.tsx'
import { Choice } from '../../parts/fields/choice.tsx'
import style from '../../parts/fields/edited-page.module.css'
import { ItemList, SearchField } from '../../parts/item-list.tsx'
import { EmptyNote } from '../../parts/notes/empty-note.tsx'
import { PageHead } from '../../parts/page-head.tsx'
import { now } from '../../state/clock.ts'
import { useMayEdit } from '../../state/project.tsx'
import { useParam } from '../../state/url.ts'
import { ExperimentEditor, ExperimentView } from './experiment.tsx'
import { draftOf } from './experiment-draft.ts'
import { membersOf } from './metric.ts'
import { listMetrics } from './metric-order.ts'
import { conclusionText, resultWord, statusText } from './result-text.ts'

/** The page. */
export function ExperimentsPage(): VNode {
  const [is_one, params] = useRoute('/experiments/:id')
  if (!is_one) return <ExperimentList />
  return params.id === 'new' ? (
    <ExperimentEditor experiment={null} />
  ) : (
    <ExperimentView key={params.id} id={params.id} />
  )
}

const SHOWN = [
  { value: '', text: 'All' },
  { value: 'draft', text: 'Drafts' },
  { value: 'running', text: 'Running' },
  { value: 'stopped', text: 'Ended' },
  { value: 'archived', text: 'Archived' },
] as const satisfies readonly { readonly value: ExperimentsShown; readonly text: string }[]

/** Results in a list: each is a query over the experiment's events. */
const RESULTS_MAX = 10

function ExperimentList(): VNode {
  const [search] = useParam('search')
  const [show, setShow] = useParam('show')
  const shown = SHOWN.find(({ value }) => value === show)?.value ?? ''
  const may_edit = useMayEdit('experiment')
  const list = useExperiments(search, shown)
  const experiments = list.data?.pages.flatMap(({ results }) => results) ?? []
  const running = experiments.filter(({ status }) => status === 'running' || status === 'paused')
  const with_result = new Set(running.slice(0, RESULTS_MAX))
  return (
    <>
      <PageHead title="Experiments">
        {may_edit && (
          <ButtonLink href="/experiments/new" look="main" icon="plus">
            New experiment
          </ButtonLink>
        )}
      </PageHead>
      <div class={style.controls}>
        <Choice label="Show" options={SHOWN} value={shown} onChange={setShow} />
        <SearchField label="Search name" />
      </div>
      <ItemList list={list} empty={<NoExperiments is_searched={search !== '' || shown !== ''} />}>
        {(experiment) => (
          <ExperimentItem
            key={experiment.id}
            experiment={experiment}
            has_result={with_result.has(experiment)}
          />
        )}
      </ItemList>
    </>
  )
}

type ExperimentItemProps = {
  readonly experiment: ShownExperiment
  readonly has_result: boolean
}

function ExperimentItem({ experiment, has_result }: ExperimentItemProps): VNode {
  const { id, name, feature_flag_key, updated_at, conclusion } = experiment
  return (
    <li>
      <span class={style.what}>
        <Link href={`/experiments/${id}`}>{name}</Link>
        <span>{feature_flag_key}</span>
      </span>
      <span class={style.release}>{statusText(experiment, now())}</span>
      <span class={style.release}>
        {has_result ? <ResultWord experiment={experiment} /> : conclusionText(conclusion)}
      </span>
      <span class={style.when}>
        <Ago iso={updated_at} />
      </span>
    </li>
  )
}

/** The result of the first primary metric. */
function ResultWord({ experiment }: { readonly experiment: ShownExperiment }): VNode {
  const [first] = listMetrics(experiment, draftOf(experiment), 'metrics')
  const query = first === undefined ? null : metricQuery(experiment.id, first.metric)
  const { data, error } = useMetricResult(query)
  if (query === null) return <>No metric</>
  if (error !== null) return <>Result failed</>
  return <>{data === undefined ? '…' : resultWord(data, membersOf(first?.metric)['goal'])}</>
}

function NoExperiments({ is_searched }: { readonly is_searched: boolean }): VNode {
  if (is_searched) return <EmptyNote title="No experiments found" icon="search" />
  return (
    <EmptyNote title="No experiments yet" icon="experiments">
      <p>
        An experiment shows variants of your product to different persons and compares what they do.
        A flag decides who sees which.
      </p>
    </EmptyNote>
  )
}
