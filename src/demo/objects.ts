/** Flags and cohorts of demo data. */
import { createCohort } from '../targeting/cohorts/cohort.ts'
import { createFlag, type FlagChanges, findFlagByKey } from '../targeting/flags/flag.ts'
import type { TargetingEditor } from '../targeting/shared/editor.ts'
import { EDITOR_FLAG } from './timeline.ts'

type KeyedFlag = FlagChanges & { readonly key: string }

const PAYING = { key: 'plan', type: 'person', operator: 'exact', value: ['pro', 'team'] } as const

const FLAGS: readonly KeyedFlag[] = [
  {
    key: EDITOR_FLAG,
    name: 'The new editor, for half of all users',
    filters: {
      groups: [{ properties: [], rollout_percentage: 100 }],
      multivariate: {
        variants: [
          { key: 'control', name: 'The old editor', rollout_percentage: 50 },
          { key: 'test', name: 'The new editor', rollout_percentage: 50 },
        ],
      },
    },
  },
  {
    key: 'export-to-pdf',
    name: 'PDF export for paying customers',
    filters: { groups: [{ properties: [PAYING], rollout_percentage: 100 }] },
  },
  { key: 'dark-mode', name: 'Dark mode for a third of all users', rollout_percentage: 33 },
]

const COHORTS = [
  { name: 'Paying customers', properties: [PAYING] },
  {
    name: 'Busy writers',
    properties: [{ key: 'documents', type: 'person', operator: 'gt', value: 10 }],
  },
] as const

/** Creates the flags that the project lacks, and the cohorts together with the first flag. */
export function createDemoThings(editor: TargetingEditor, now: Date): void {
  const { control, project } = editor
  if (findFlagByKey(control, project.id, EDITOR_FLAG) === null) {
    for (const { name, properties } of COHORTS) {
      const filters = { properties: { type: 'OR', values: [{ type: 'AND', values: properties }] } }
      createCohort(editor, { name, filters }, now)
    }
  }
  for (const flag of FLAGS) {
    if (findFlagByKey(control, project.id, flag.key) === null) createFlag(editor, flag, now)
  }
}
