/** Archived responses of surveys, which statistics can exclude. */
import { and, asc, eq } from 'drizzle-orm'
import type { ControlDB } from '../../storage/control/control-db.ts'
import { recordEdit, type TargetingEditor } from '../shared/editor.ts'
import { survey_archived_responses } from '../tables.ts'
import type { Survey } from './survey.ts'

/** Lists the uuids of a survey's archived responses. */
export function listArchived(db: ControlDB, survey_id: string): readonly string[] {
  const { response_uuid } = survey_archived_responses
  return db
    .select({ response_uuid })
    .from(survey_archived_responses)
    .where(eq(survey_archived_responses.survey_id, survey_id))
    .orderBy(asc(response_uuid))
    .all()
    .map((row) => row.response_uuid)
}

/** Archives or restores a response; idempotent. */
export function archiveResponse(
  editor: TargetingEditor,
  survey: Survey,
  response: { readonly uuid: string; readonly is_archived: boolean },
  now: Date,
): void {
  const { uuid, is_archived } = response
  const its = and(
    eq(survey_archived_responses.survey_id, survey.id),
    eq(survey_archived_responses.response_uuid, uuid),
  )
  editor.control.transaction((tx) => {
    const was = tx.select().from(survey_archived_responses).where(its).get() !== undefined
    if (was === is_archived) return
    const row = { survey_id: survey.id, response_uuid: uuid, archived_at: now }
    if (is_archived) tx.insert(survey_archived_responses).values(row).run()
    else tx.delete(survey_archived_responses).where(its).run()
    const before = { archived_response: was ? uuid : null }
    const after = { archived_response: is_archived ? uuid : null }
    const edit = { scope: 'Survey', item_id: survey.id, name: survey.name, before, after } as const
    recordEdit(tx, editor, edit, now)
  })
}
