/** Names, companies, devices and traffic sources of demo persons. */
import type { WeightedItems } from './random.ts'

export const FIRST_NAMES = [
  'Ada',
  'Bela',
  'Carla',
  'Dev',
  'Emre',
  'Fay',
  'Goran',
  'Hana',
  'Ivo',
  'Jun',
  'Kofi',
  'Lena',
  'Mina',
  'Noor',
  'Ola',
  'Pia',
  'Quin',
  'Rosa',
  'Sami',
  'Tove',
] as const
export const LAST_NAMES = [
  'Abe',
  'Berg',
  'Costa',
  'Diaz',
  'Eriks',
  'Fofana',
  'Gupta',
  'Haas',
  'Ito',
  'Jansen',
  'Kaya',
  'Lund',
  'Moreau',
  'Novak',
  'Okafor',
  'Park',
  'Rossi',
  'Silva',
  'Tanaka',
  'Weber',
] as const
export const COMPANIES = [
  'Alder',
  'Birch',
  'Cedar',
  'Dune',
  'Ember',
  'Fjord',
  'Grove',
  'Heath',
  'Isle',
  'Juniper',
  'Knoll',
  'Larch',
  'Mesa',
  'North',
  'Oak',
  'Pine',
] as const
export const INDUSTRIES = ['software', 'finance', 'education', 'health', 'media'] as const
/** As browsers send it of a page whose address was typed. */
export const DIRECT = { $referrer: '$direct', $referring_domain: '$direct' }
export const SOURCES: WeightedItems<object> = [
  [DIRECT, 40],
  [{ $referrer: 'https://www.google.com/', $referring_domain: 'www.google.com' }, 35],
  [
    {
      $referrer: 'https://news.example/',
      $referring_domain: 'news.example',
      utm_source: 'news',
      utm_campaign: 'launch',
    },
    15,
  ],
  [
    {
      $referrer: 'https://social.example/',
      $referring_domain: 'social.example',
      utm_source: 'social',
    },
    10,
  ],
]
export const DEVICES: WeightedItems<object> = [
  [{ $os: 'Windows', $browser: 'Chrome', $device_type: 'Desktop' }, 38],
  [{ $os: 'Mac OS X', $browser: 'Safari', $device_type: 'Desktop' }, 27],
  [{ $os: 'iOS', $browser: 'Mobile Safari', $device_type: 'Mobile' }, 18],
  [{ $os: 'Android', $browser: 'Chrome', $device_type: 'Mobile' }, 12],
  [{ $os: 'Linux', $browser: 'Firefox', $device_type: 'Desktop' }, 5],
]
export const ADDRESSES = [
  '8.8.8.8',
  '1.1.1.1',
  '9.9.9.9',
  '80.80.80.80',
  '202.12.27.33',
  '193.0.14.129',
  '200.160.0.8',
  '196.216.2.6',
] as const
