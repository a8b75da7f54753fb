/** The table of ingestion warnings. */

import { STRING } from '../types/types.ts'
import { plainColumn, type ScanDef, TEAM_ID, time } from './definition.ts'

export const INGESTION_WARNINGS: ScanDef = {
  kind: 'scan',
  relation: 'ingestion_warnings',
  fields: {
    team_id: TEAM_ID,
    type: plainColumn('type', STRING),
    details: plainColumn('details', STRING),
    timestamp: time('timestamp'),
  },
  joins: {},
}
