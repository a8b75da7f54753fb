/** Serializes surveys for the management API. */
import { listFlagKeys } from '../../../targeting/flags/flag.ts'
import type { Survey } from '../../../targeting/surveys/survey.ts'
import type { AppContext } from '../../app-context.ts'
import { authorFinder } from '../../callers/authors.ts'
import { linkedFlags, type ShownTo } from '../flags/linked-flags.ts'

/** Returns a function that serializes surveys of one project during one request. */
export function surveySerializer(app: AppContext, to: ShownTo): (survey: Survey) => object {
  const nameAuthor = authorFinder(app)
  const flags = linkedFlags(app, to)
  const keys = listFlagKeys(app.control, to.project.id)
  const keyOf = (flag_id: number | null) => (flag_id === null ? null : (keys.get(flag_id) ?? null))
  return (survey) => {
    const { project_id: _project, internal_targeting_flag_id, ...stored } = survey
    const { linked_flag_id, targeting_flag_id } = survey
    return {
      ...stored,
      start_date: printWhole(survey.start_date),
      end_date: printWhole(survey.end_date),
      response_sampling_start_date: printWhole(survey.response_sampling_start_date),
      linked_flag: flags(linked_flag_id),
      targeting_flag: flags(targeting_flag_id),
      internal_targeting_flag: flags(internal_targeting_flag_id),
      created_by: nameAuthor(survey.created_by),
      feature_flag_keys: [
        { key: 'linked_flag_key', value: keyOf(linked_flag_id) },
        { key: 'targeting_flag_key', value: keyOf(targeting_flag_id) },
        { key: 'internal_targeting_flag_key', value: keyOf(internal_targeting_flag_id) },
      ],
      user_access_level: 'editor',
    }
  }
}

/**
 * Prints a time without milliseconds where it has none, as PostHog does: its Terraform provider compares it with the text
 * of the configuration. `2026-01-01T00:00:00Z`
 */
function printWhole(date: Date | null): string | null {
  return date?.toISOString().replace('.000Z', 'Z') ?? null
}
