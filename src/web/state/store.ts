/** Small values that this browser keeps, such as the theme. Storage may be full or blocked: then they last as long as the page. */

const PREFIX = 'tidemark.'
const page_values = new Map<string, string>()

/** Reads a value; null when there is none. */
export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name) ?? page_values.get(name) ?? null
  } catch {
    return page_values.get(name) ?? null
  }
}

/** Keeps a value; null removes it. Returns whether it will survive a reload. */
export function store(name: string, value: string | null): boolean {
  if (value === null) page_values.delete(name)
  else page_values.set(name, value)
  try {
    if (value === null) localStorage.removeItem(PREFIX + name)
    else localStorage.setItem(PREFIX + name, value)
    return true
  } catch {
    return false
  }
}

/** Calls `changed` when another window of this browser has changed a value; returns a function that ends it. */
export function followStored(name: string, changed: () => void): () => void {
  const listen = ({ key }: StorageEvent): void => {
    if (key === PREFIX + name) changed()
  }
  addEventListener('storage', listen)
  return () => removeEventListener('storage', listen)
}
