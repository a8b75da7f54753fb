/** Runs `clickhouse move` with the settings of the environment until it is killed after a step: arguments project, folder, step. */
import { MOVE_FAULTS, moveOut } from '../../src/backup/move.ts'
import { readConfig } from '../../src/config.ts'
import { openLog } from '../../src/logs.ts'
import { withAllShipped } from '../../src/serve/ship-all.ts'

const [project_id, folder = '', step] = process.argv.slice(2)
const config = readConfig()
const request = {
  data_dir: config.data_dir,
  project_id: Number(project_id),
  folder,
  fault: MOVE_FAULTS.find((fault) => fault === step) ?? null,
}
await withAllShipped(config, openLog('error', []), () => moveOut(request, new Date()))
