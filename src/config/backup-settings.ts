/** Settings of backups that are kept elsewhere (`backup/README.md`). */

import { resolve } from 'node:path'
import { Cron } from 'croner'
import { readUrlOrNothing, readWord, readWordOrNothing, type SettingValue } from './readings.ts'

/** Part of SETTINGS. */
export const BACKUP_SETTINGS = [
  {
    key: 'backup_to',
    env: 'TIDEMARK_BACKUP_TO',
    flag: '--backup-to <store>',
    read: readStoreAddress,
    fallback: '',
    help: 'where backups are kept: a folder, or s3://bucket/prefix; the server then makes them by itself',
  },
  {
    key: 'backup_every',
    env: 'TIDEMARK_BACKUP_EVERY',
    flag: '--backup-every <hours|cron>',
    read: readSchedule,
    fallback: '24',
    help: 'when the server makes them: hours from one to the next, or a cron expression in UTC',
  },
  {
    key: 'backup_keep',
    env: 'TIDEMARK_BACKUP_KEEP',
    flag: '--backup-keep <number|days>',
    read: readRetention,
    fallback: '14',
    help: 'backups that are kept: a number of them, or days as 30d; the newest whole one always is',
  },
  {
    key: 'backup_s3_endpoint',
    env: 'TIDEMARK_BACKUP_S3_ENDPOINT',
    env_else: 'AWS_ENDPOINT_URL',
    flag: null,
    read: readUrlOrNothing,
    fallback: '',
    help: "address of the bucket's server (or AWS_ENDPOINT_URL); default: Amazon's of the region",
  },
  {
    key: 'backup_s3_region',
    env: 'TIDEMARK_BACKUP_S3_REGION',
    env_else: 'AWS_REGION',
    flag: null,
    read: readWord,
    fallback: 'us-east-1',
    help: 'region of the bucket (or AWS_REGION)',
  },
  {
    key: 'backup_s3_key_id',
    env: 'TIDEMARK_BACKUP_S3_KEY_ID',
    env_else: 'AWS_ACCESS_KEY_ID',
    flag: null,
    read: readWordOrNothing,
    fallback: '',
    help: 'id of the key of the bucket (or AWS_ACCESS_KEY_ID)',
  },
  {
    key: 'backup_s3_secret',
    env: 'TIDEMARK_BACKUP_S3_SECRET',
    env_else: 'AWS_SECRET_ACCESS_KEY',
    flag: null,
    read: readWordOrNothing,
    fallback: '',
    help: 'secret of that key (or AWS_SECRET_ACCESS_KEY)',
  },
  {
    key: 'backup_s3_session_token',
    env: 'TIDEMARK_BACKUP_S3_SESSION_TOKEN',
    env_else: 'AWS_SESSION_TOKEN',
    flag: null,
    read: readWordOrNothing,
    fallback: '',
    help: 'session token of a key that is valid for a while (or AWS_SESSION_TOKEN)',
  },
] as const

type StoreSetting =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'bucket'; readonly bucket: string; readonly prefix: string }

/** A folder as an absolute path, or a bucket and its prefix, which is empty or ends with a slash; null for an empty text. */
function readStoreAddress(text: string): SettingValue<StoreSetting | null> {
  if (text === '') return { value: null }
  if (!text.startsWith('s3:')) return { value: { kind: 'folder', folder: resolve(text) } }
  const parts = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w./-]{0,500}))?$/.exec(text)
  const segments = (parts?.[2] ?? '').split('/').filter((segment) => segment !== '')
  const is_relative = segments.some((segment) => segment === '.' || segment === '..')
  if (parts?.[1] === undefined || is_relative) {
    return { reason: 'must be a folder, or s3://bucket/prefix of letters, digits, . _ and -' }
  }
  const prefix = segments.map((segment) => `${segment}/`).join('')
  return { value: { kind: 'bucket', bucket: parts[1], prefix } }
}

type RetentionSetting = { readonly unit: 'backups' | 'days'; readonly number: number }

/** `14` for a number of backups, `30d` for days. */
function readRetention(text: string): SettingValue<RetentionSetting> {
  const parts = /^([1-9]\d{0,3})(d?)$/.exec(text)
  if (parts === null) return { reason: 'must be a number of backups, as 14, or of days, as 30d' }
  return { value: { unit: parts[2] === 'd' ? 'days' : 'backups', number: Number(parts[1]) } }
}

/** Hours, or a cron expression that has a next time. */
function readSchedule(text: string): SettingValue<string> {
  const no = { reason: 'must be hours from 1 to 8760, or a cron expression as "0 3 * * *"' }
  if (/^\d+$/.test(text)) return Number(text) >= 1 && Number(text) <= 8760 ? { value: text } : no
  try {
    return new Cron(text, { paused: true, timezone: 'UTC' }).nextRun() === null
      ? no
      : { value: text }
  } catch {
    return no
  }
}
