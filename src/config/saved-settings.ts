/** Settings of saved objects: quotas, and retention of deleted ones and of logs. */
import { MIB } from '../bytes.ts'
import { type SettingValue, wholeNumber } from './readings.ts'

/** No more are evaluated (`FLAGS_EVALUATED_MAX`): 20,000 take up to 66 ms. */
const FLAGS_MAX = 10_000

function readFlagsMax(text: string): SettingValue<number> {
  const read = wholeNumber(1, FLAGS_MAX)(text)
  if ('value' in read) return read
  return {
    reason: `${read.reason}: a request of an SDK evaluates all of them in one turn of the server`,
  }
}

/** Part of SETTINGS. */
export const SAVED_SETTINGS = [
  {
    key: 'saved_max',
    env: 'TIDEMARK_SAVED_MAX',
    flag: '--saved-max <number>',
    read: wholeNumber(1, 1_000_000),
    fallback: '20000',
    help: 'things of one kind that a project may keep: insights, dashboards, annotations, actions, flags, cohorts, …',
  },
  {
    key: 'flags_max',
    env: 'TIDEMARK_FLAGS_MAX',
    flag: '--flags-max <number>',
    read: readFlagsMax,
    fallback: '5000',
    help: 'feature flags that a project may keep, at most what saved-max says: all of them are evaluated for each request of an SDK, in one turn of the server, so that 10000 is the most',
  },
  {
    key: 'saved_bytes_max',
    env: 'TIDEMARK_SAVED_BYTES_MAX',
    flag: '--saved-bytes-max <bytes>',
    read: wholeNumber(1024, 1024 * MIB),
    fallback: String(32 * MIB),
    help: 'what the things of one kind of a project may take together, deleted ones included; flags, cohorts and surveys a quarter of it, since they are read as a whole; experiments, their metrics, early access features and actions a sixteenth',
  },
  {
    key: 'deleted_days',
    env: 'TIDEMARK_DELETED_DAYS',
    flag: '--deleted-days <days>',
    read: wholeNumber(1, 36_500),
    fallback: '30',
    help: 'days after which deleted insights, dashboards, flags, cohorts and the like are removed permanently',
  },
  {
    key: 'activity_days',
    env: 'TIDEMARK_ACTIVITY_DAYS',
    flag: '--activity-days <days>',
    read: wholeNumber(1, 36_500),
    fallback: '730',
    help: 'days for which the activity log is kept',
  },
  {
    key: 'activity_rows_max',
    env: 'TIDEMARK_ACTIVITY_ROWS_MAX',
    flag: '--activity-rows-max <entries>',
    read: wholeNumber(100, 100_000_000),
    fallback: '100000',
    help: 'entries of the activity log that an organization keeps, the latest ones',
  },
  {
    key: 'activity_bytes_max',
    env: 'TIDEMARK_ACTIVITY_BYTES_MAX',
    flag: '--activity-bytes-max <bytes>',
    read: wholeNumber(MIB, 1024 * MIB),
    fallback: String(64 * MIB),
    help: 'what the activity log of an organization may take, the latest entries first',
  },
  {
    key: 'organizations_max',
    env: 'TIDEMARK_ORGANIZATIONS_MAX',
    flag: '--organizations-max <number>',
    read: wholeNumber(1, 1_000_000),
    fallback: '50',
    help: 'organizations that one user may own; the command line makes more',
  },
  {
    key: 'projects_max',
    env: 'TIDEMARK_PROJECTS_MAX',
    flag: '--projects-max <number>',
    read: wholeNumber(1, 1_000_000),
    fallback: '200',
    help: 'projects that one organization may have; the command line makes more',
  },
] as const
