/** The conditions under which a survey is shown: place, event, flag, persons, and how often. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useFlag, useFlags, useReach } from '../../api/targeting/flags.ts'
import type { ShownSurvey } from '../../api/types/shown-survey.ts'
import { ButtonLink, IconButton } from '../../parts/button.tsx'
import edited from '../../parts/fields/edited-page.module.css'
import { EventPicker } from '../../parts/fields/event-picker.tsx'
import { TextField } from '../../parts/fields/field.tsx'
import { Picker } from '../../parts/fields/picker.tsx'
import { SelectField } from '../../parts/fields/select-field.tsx'
import { isCondition } from '../../parts/filters/conditions.ts'
import { PropertyFilters } from '../../parts/filters/property-filters.tsx'
import type { OfferedProperties } from '../../parts/filters/property-list.tsx'
import { formatNumber } from '../../parts/format.ts'
import { eventTitle } from '../../parts/names.ts'
import { propertyText } from '../flags/release-text.ts'
import { withStored } from './kinds.ts'
import type { ChangeSurvey } from './question-list.tsx'
import {
  type DraftedSurvey,
  isMembers,
  listOf,
  membersOf,
  type SurveyMembers,
  shownText,
  textOf,
  withMember,
} from './survey-draft.ts'
import style from './surveys.module.css'

type AudienceProps = {
  /** Null for a new one. */
  readonly survey: ShownSurvey | null
  readonly draft: DraftedSurvey
  readonly change: ChangeSurvey
}

type AudienceFieldsProps = Omit<AudienceProps, 'survey'>

/** Draws the card. */
export function AudienceCard({ survey, draft, change }: AudienceProps): VNode {
  return (
    <section class={edited.card} aria-labelledby="audience">
      <h2 id="audience">Where it shows</h2>
      <PlaceFields draft={draft} change={change} />
      <EventTriggers draft={draft} change={change} />
      <Persons survey={survey} draft={draft} change={change} />
      <FlagFields survey={survey} draft={draft} change={change} />
      <Kept conditions={draft.conditions} />
      <LimitFields draft={draft} change={change} />
    </section>
  )
}

const URL_MATCHES = [
  { value: 'icontains', text: 'contains' },
  { value: 'not_icontains', text: 'does not contain' },
  { value: 'exact', text: 'is' },
  { value: 'is_not', text: 'is not' },
  { value: 'regex', text: 'matches' },
  { value: 'not_regex', text: 'does not match' },
]

function PlaceFields({ draft, change }: AudienceFieldsProps): VNode {
  const { conditions } = draft
  const match = textOf(conditions['urlMatchType']) || 'icontains'
  const type = (name: string, text: string): void =>
    change({ conditions: withMember(conditions, name, text) }, { is_typing: true })
  return (
    <>
      <div class={style.url}>
        <SelectField
          label="URL of the page"
          value={match}
          options={withStored(URL_MATCHES, match)}
          onChange={(value) => change({ conditions: { ...conditions, urlMatchType: value } })}
        />
        <TextField
          label="Address"
          value={textOf(conditions['url'])}
          placeholder="Any page"
          onInput={(url) => type('url', url)}
          spellcheck={false}
        />
      </div>
      <TextField
        label="Element on the page"
        value={textOf(conditions['selector'])}
        placeholder="Any"
        onInput={(selector) => type('selector', selector)}
        hint="A CSS selector, such as #checkout; only pages that have it show the survey."
        spellcheck={false}
      />
    </>
  )
}

/** The events after which it is shown, each with members that the page does not edit, such as filters. */
function EventTriggers({ draft, change }: AudienceFieldsProps): VNode {
  const { conditions } = draft
  const events = membersOf(conditions['events'])
  const values = listOf(events['values'])
  const put = (next: readonly unknown[]): void =>
    change({
      conditions: withMember(
        conditions,
        'events',
        next.length === 0 ? null : { repeatedActivation: false, ...events, values: next },
      ),
    })
  return (
    <div class={edited.who} role="group" aria-label="After an event">
      After
      {values.map((value, at) => {
        const name = textOf(membersOf(value)['name'])
        return (
          // oxlint-disable-next-line react/no-array-index-key -- an event may be there twice, with other filters
          <span key={at} class={edited.fixed}>
            {eventTitle(name)}
            <IconButton
              icon="close"
              label={`Remove ${eventTitle(name)}`}
              onClick={() => put(values.toSpliced(at, 1))}
            />
          </span>
        )
      })}
      <EventPicker
        key={values.length}
        value={null}
        has_all={false}
        label={values.length === 0 ? 'After an event' : 'Another event'}
        look="quiet"
        onChange={(name) => put([...values, { name }])}
      />
      {values.length === 0 && 'or at once'}
    </div>
  )
}

const PERSONS: OfferedProperties = { owners: ['person', 'cohort'] }

/** Begins the keys of the flags that surveys own. */
const OWN_FLAG = 'survey-targeting-'

/** The persons whom it is for, by the survey's own flag. A flag that others use too is changed on its page. */
function Persons({ survey, draft, change }: AudienceProps): VNode {
  const flag = survey?.targeting_flag ?? null
  const groups = listOf(draft.targeting?.['groups'])
  const is_own = flag === null || (flag.filters !== null && flag.key.startsWith(OWN_FLAG))
  if (flag !== null && (!is_own || groups.length > 1)) {
    return (
      <div class={edited.who}>
        For those who get the flag
        <ButtonLink href={`/flags/${flag.id}`} icon="flags" look="quiet">
          {flag.key}
        </ButtonLink>
      </div>
    )
  }
  const group = membersOf(groups[0])
  const properties = listOf(group['properties'])
  const fixed = properties.filter((property) => !isCondition(property))
  const share = Number(group['rollout_percentage'] ?? 100)
  const put = (changed: SurveyMembers): void => {
    const next: SurveyMembers = { rollout_percentage: 100, ...group, ...changed }
    const is_everyone =
      listOf(next['properties']).length === 0 && (next['rollout_percentage'] ?? 100) === 100
    change({ targeting: is_everyone ? null : { ...draft.targeting, groups: [next] } })
  }
  return (
    <>
      <div class={edited.who}>
        For {share < 100 && `${share}% of `}
        {properties.length === 0 && 'everyone'}
        {fixed.map((property) => (
          <span key={propertyText(property)} class={edited.fixed}>
            {propertyText(property)}
          </span>
        ))}
        <PropertyFilters
          filters={properties.filter(isCondition)}
          offered={PERSONS}
          onChange={(filters) => put({ properties: [...fixed, ...filters] })}
        />
      </div>
      {properties.length > 0 && <Reach properties={properties} />}
    </>
  )
}

function Reach({ properties }: { readonly properties: readonly unknown[] }): VNode | null {
  const { data, isError } = useReach(properties, null)
  // As for members without the right to read flags.
  if (isError) return null
  if (data === undefined) return <p class={edited.reach}>…</p>
  return (
    <p class={edited.reach} aria-live="polite">
      <strong>{formatNumber(data.affected)}</strong> of {formatNumber(data.total)} persons
    </p>
  )
}

/** The flag that must be on, and the variant that it must have. */
function FlagFields({ survey, draft, change }: AudienceProps): VNode {
  const { linked_flag_id, conditions } = draft
  const [search, setSearch] = useState('')
  const { data, isFetching } = useFlags(search, '')
  const flags = data?.pages.flatMap(({ results }) => results) ?? []
  const found = flags.find(({ id }) => id === linked_flag_id)
  const linked = survey?.linked_flag
  const key = found?.key ?? (linked?.id === linked_flag_id ? linked?.key : undefined)
  const none = search === '' ? [{ value: '', text: 'None' }] : []
  return (
    <>
      <div class={edited.who}>
        Flag that must be on
        <Picker
          label="Flag"
          icon="flags"
          options={[...none, ...flags.map((flag) => ({ value: String(flag.id), text: flag.key }))]}
          value={linked_flag_id === null ? '' : String(linked_flag_id)}
          text={linked_flag_id === null ? 'None' : (key ?? `Flag ${linked_flag_id}`)}
          is_loading={isFetching}
          onSearch={setSearch}
          onChange={(value) =>
            change({
              linked_flag_id: value === '' ? null : Number(value),
              // A variant of one flag is none of another.
              conditions: withMember(conditions, 'linkedFlagVariant', null),
            })
          }
        />
      </div>
      {linked_flag_id !== null && (
        <VariantField flag_id={linked_flag_id} draft={draft} change={change} />
      )}
    </>
  )
}

function VariantField({
  flag_id,
  draft,
  change,
}: AudienceFieldsProps & { readonly flag_id: number }): VNode | null {
  const { conditions } = draft
  const { data } = useFlag(String(flag_id))
  const chosen = textOf(conditions['linkedFlagVariant'])
  const variants = listOf(membersOf(data?.filters['multivariate'])['variants'])
  const keys = variants.map((variant) => textOf(membersOf(variant)['key']))
  if (keys.length === 0 && chosen === '') return null
  const known = new Set([...keys, ...(chosen === '' || chosen === 'any' ? [] : [chosen])])
  return (
    <SelectField
      label="Variant"
      value={chosen}
      options={[
        { value: '', text: 'On' },
        { value: 'any', text: 'Any variant' },
        ...[...known].map((key) => ({ value: key, text: key })),
      ]}
      onChange={(value) =>
        change({ conditions: withMember(conditions, 'linkedFlagVariant', value) })
      }
    />
  )
}

/** The conditions that have a field on the page. */
const EDITED: ReadonlySet<string> = new Set([
  'events',
  'linkedFlagVariant',
  'seenSurveyWaitPeriodInDays',
  'selector',
  'url',
  'urlMatchType',
])

/** Conditions that an API client has set, such as actions and kinds of devices. */
function Kept({ conditions }: { readonly conditions: SurveyMembers }): VNode | null {
  const kept = Object.entries(conditions).filter(
    ([name, value]) => !EDITED.has(name) && !isNothing(value),
  )
  if (kept.length === 0) return null
  return (
    <div class={edited.who}>
      Also, set by API
      {kept.map(([name, value]) => (
        <span key={name} class={edited.fixed}>
          {name}: {JSON.stringify(value)}
        </span>
      ))}
    </div>
  )
}

/** `null`, an empty list, and an object whose values are an empty list. */
const isNothing = (value: unknown): boolean =>
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (isMembers(value) && Array.isArray(value['values']) && value['values'].length === 0)

const SCHEDULES = [
  { value: 'once', text: 'Once' },
  { value: 'recurring', text: 'Again after some time' },
  { value: 'always', text: 'Every time' },
]

function LimitFields({ draft, change }: AudienceFieldsProps): VNode {
  const { conditions, appearance, schedule, responses_limit } = draft
  return (
    <details class={style.more}>
      <summary>How often, and until when</summary>
      <div class={style.fields}>
        <SelectField
          label="To each person"
          value={schedule ?? 'once'}
          options={withStored(SCHEDULES, schedule ?? 'once')}
          onChange={(value) => change(scheduleChange(value))}
        />
        <WholeField
          label="Ends after responses"
          value={responses_limit}
          placeholder="No limit"
          onChange={(limit) => change({ responses_limit: limit }, { is_typing: true })}
        />
        {schedule === 'recurring' && <IterationFields draft={draft} change={change} />}
        <WholeField
          label="Days since any other survey"
          value={conditions['seenSurveyWaitPeriodInDays']}
          placeholder="0"
          onChange={(days) =>
            change(
              { conditions: withMember(conditions, 'seenSurveyWaitPeriodInDays', days) },
              { is_typing: true },
            )
          }
        />
        <WholeField
          label="Seconds until it appears"
          value={appearance['surveyPopupDelaySeconds']}
          placeholder="0"
          onChange={(seconds) =>
            change(
              { appearance: withMember(appearance, 'surveyPopupDelaySeconds', seconds) },
              { is_typing: true },
            )
          }
        />
      </div>
    </details>
  )
}

/** A recurring survey needs its number of times and the days between; the others have neither. */
const scheduleChange = (schedule: string): Partial<DraftedSurvey> =>
  schedule === 'recurring'
    ? { schedule, iteration_count: 4, iteration_frequency_days: 90 }
    : { schedule, iteration_count: null, iteration_frequency_days: null }

function IterationFields({ draft, change }: AudienceFieldsProps): VNode {
  return (
    <>
      <WholeField
        label="Times"
        value={draft.iteration_count}
        onChange={(count) => change({ iteration_count: count }, { is_typing: true })}
      />
      <WholeField
        label="Days between"
        value={draft.iteration_frequency_days}
        onChange={(days) => change({ iteration_frequency_days: days }, { is_typing: true })}
      />
    </>
  )
}

type WholeFieldProps = {
  readonly label: string
  readonly value: unknown
  readonly placeholder?: string
  /** Null for an empty field. */
  readonly onChange: (value: number | null) => void
}

/** A field for a whole number. The platform's own has no value while `20 d` is typed, which would be no number at all. */
function WholeField({ label, value, placeholder, onChange }: WholeFieldProps): VNode {
  return (
    <TextField
      label={label}
      inputMode="numeric"
      value={shownText(value)}
      {...(placeholder !== undefined && { placeholder })}
      onInput={(text) => {
        const digits = text.replaceAll(/\D/g, '')
        onChange(digits === '' ? null : Number(digits))
      }}
    />
  )
}
