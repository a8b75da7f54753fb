/** The facts of an event or a property: its name as it is sent, when it was seen, by whom it was verified. */
import type { VNode } from 'preact'
import type { DefinitionUser, ShownDefinition } from '../../api/types/shown-definition.ts'
import style from '../../parts/fields/edited-page.module.css'
import { formatMoment } from '../../parts/format.ts'
import { useProject } from '../../state/project.tsx'

type FactsCardProps = {
  readonly definition: ShownDefinition
  /** Of events. */
  readonly last_seen_at?: string
  readonly owner?: DefinitionUser | null
}

const userText = ({ first_name, email }: DefinitionUser): string => first_name || email

/** Draws the card. */
export function FactsCard({ definition, last_seen_at, owner = null }: FactsCardProps): VNode {
  const { timezone } = useProject()
  const { name, created_at, verified_at, verified_by } = definition
  const verifier = verified_by === null ? '' : `, ${userText(verified_by)}`
  const facts: readonly (readonly [name: string, value: string])[] = [
    ['Name', name],
    ['First seen', formatMoment(created_at, timezone)],
    ...(last_seen_at === undefined
      ? []
      : [['Last seen', formatMoment(last_seen_at, timezone)] as const]),
    ...(owner === null ? [] : [['Owner', userText(owner)] as const]),
    ...(verified_at === null
      ? []
      : [['Verified', `${formatMoment(verified_at, timezone)}${verifier}`] as const]),
  ]
  return (
    <section class={style.card} aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <dl class={style.facts}>
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
