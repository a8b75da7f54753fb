/**
 * A server's part in shipping, as a process that can be killed: carries everything of a folder to ClickHouse and exits 0.
 * Its argument is ShipOnceOptions as JSON.
 */
import { expireNothing, openShipper, type ShipOnceOptions } from './shipping-world.ts'

const options = JSON.parse(process.argv[2] ?? '') as ShipOnceOptions
const { shipper, close } = openShipper({ ...expireNothing, ...options })
try {
  await shipper.prepare()
  await shipper.run()
} finally {
  await close()
}
