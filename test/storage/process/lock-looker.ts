/** A process that looks a thousand times a second whether a server runs on the folder named on its command line. */
import { findRunning } from '../../../src/storage/process/lock.ts'

const [, , data_dir = ''] = process.argv
process.stdout.write('looking\n')
for (;;) {
  findRunning(data_dir)
  await Bun.sleep(1)
}
