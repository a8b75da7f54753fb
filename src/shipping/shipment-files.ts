/** The files of batches: their paths, and the removal of files that no batch names. */

import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The folder of all batches. */
export function shipmentsFolder(data_dir: string): string {
  return join(data_dir, 'shipments')
}

export function shipmentPath(data_dir: string, id: string): string {
  return join(shipmentsFolder(data_dir), `${id}.parquet`)
}

/** Deletes files that no batch names: a crash left them over. */
export function sweepShipments(data_dir: string, ids: readonly string[]): void {
  const folder = shipmentsFolder(data_dir)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const kept = new Set(ids.map((id) => `${id}.parquet`))
  for (const name of readdirSync(folder))
    if (!kept.has(name)) rmSync(join(folder, name), { recursive: true, force: true })
}
