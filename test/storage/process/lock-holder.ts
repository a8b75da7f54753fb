/** A process that takes the lock of a data folder, says so, and keeps it until it is killed. */
import { takeLock } from '../../../src/storage/process/lock.ts'

function hold(data_dir: string): void {
  takeLock(data_dir, process.pid, new Date('2026-01-02T03:04:05Z')).announce({
    url: 'http://127.0.0.1:1',
    local_url: 'http://127.0.0.1:1',
    operator_key: 'key',
  })
}

hold(process.argv[2] ?? '')
console.log('taken')
setInterval(() => Bun.gc(true), 10)
