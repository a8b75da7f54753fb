/** One run of a move, to be killed: its options are the first argument. */
import { moveIn } from '../../../src/backup/server/move-in.ts'

const options = JSON.parse(process.argv[2] ?? '{}')
await moveIn({ ...options, onProgress: () => undefined, onWait: () => undefined })
