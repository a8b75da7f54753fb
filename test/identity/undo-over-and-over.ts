/** A process that merges two persons and undoes it, over and over, until it is killed (`undo-kill.test.ts`). */
import { personIdOf } from '../../src/identity/distinct-id.ts'
import { openCapture } from '../../src/ingest/threads/capture.ts'
import { bytesOf, NOW, TOKEN } from '../ingest/folder.ts'

const [, , data_dir = ''] = process.argv
const capture = await openCapture({ data_dir, log: { error: () => undefined } })
const merge = {
  api_key: TOKEN,
  event: '$identify',
  distinct_id: 'user',
  properties: { $anon_distinct_id: 'anon' },
}
const person_id = personIdOf(1, 'user')
const undo = () =>
  capture.changePerson({ kind: 'undo_merge', project_id: 1, person_id, merge_id: null })
// Claiming the same again while they are merged would be more than the merge, and stay.
await undo()
process.stdout.write('begun\n')
for (;;) {
  await capture.send({
    path: '/capture',
    query: '',
    content_type: '',
    content_encoding: '',
    client_ip: '',
    received_at_ms: NOW,
    body: bytesOf(merge),
  })
  await undo()
}
