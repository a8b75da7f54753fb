/** Alerts on insights. */

import { type UseQueryResult, useQuery } from '@tanstack/preact-query'
import { useProject } from '../state/project.tsx'
import { type ApiError, type CallMethod, call } from './calls/call.ts'
import { queryClient } from './calls/client.ts'
import type { AlertFields } from './types/alert-fields.ts'

type ShownAlertState = 'Firing' | 'Not firing' | 'Errored' | 'Snoozed'

type ShownAlertCheck = {
  readonly id: string
  readonly created_at: string
  readonly calculated_value: number | null
  readonly state: ShownAlertState
  readonly targets_notified: boolean
  readonly error: string | null
}

export type ShownAlert = AlertFields & {
  readonly id: string
  readonly insight: { readonly id: number; readonly short_id: string; readonly name: string | null }
  readonly enabled: boolean
  readonly state: ShownAlertState
  readonly snoozed_until: string | null
  readonly last_checked_at: string | null
  /** The last ones, the newest first; none in a list. */
  readonly checks: readonly ShownAlertCheck[]
}

type AlertPage = { readonly results: readonly ShownAlert[] }

const LIST_MAX = 200
/** Alerts are checked by the server; the page asks for changes. */
const LOOK_MS = 15_000

function useAlertCall<Answer>(path: string): UseQueryResult<Answer, ApiError> {
  const { id } = useProject()
  return useQuery<Answer, ApiError>({
    queryKey: ['alerts', id, path],
    queryFn: ({ signal }) => call<Answer>('GET', `/api/projects/${id}/alerts/${path}`, { signal }),
    refetchInterval: LOOK_MS,
  })
}

/** All alerts, the newest first. */
export const useAlerts = (): UseQueryResult<AlertPage, ApiError> =>
  useAlertCall(`?limit=${LIST_MAX}`)

/** One alert with its last checks. */
export const useAlert = (alert_id: string): UseQueryResult<ShownAlert, ApiError> =>
  useAlertCall(`${alert_id}/`)

/** Makes, changes or deletes an alert, and fetches the shown alerts again. Throws ApiError. */
export async function changeAlert(
  project_id: number,
  method: CallMethod,
  [path, body]: readonly [path: string, body?: object | undefined],
): Promise<void> {
  const at = `/api/projects/${project_id}/alerts/${path}`
  await call(method, at, body === undefined ? {} : { body })
  await queryClient.invalidateQueries({ queryKey: ['alerts', project_id] })
}
