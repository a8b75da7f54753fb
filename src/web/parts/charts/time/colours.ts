/** Colours for a canvas, which cannot read tokens: resolved from the page, again when the theme changes. */
import { useEffect, useState } from 'preact/hooks'

export type ColourReader = (colour: string) => string

/** Makes a function that resolves `var(--series-1)` to `rgb(…)` as it is on an element now. */
export function colourReader(element: HTMLElement): ColourReader {
  const probe = document.createElement('span')
  probe.hidden = true
  element.append(probe)
  const resolved_colours = new Map<string, string>()
  queueMicrotask(() => probe.remove())
  return (colour) => {
    const cached = resolved_colours.get(colour)
    if (cached !== undefined) return cached
    probe.style.color = colour
    const resolved = getComputedStyle(probe).color
    resolved_colours.set(colour, resolved)
    return resolved
  }
}

/** Counts changes of the theme, so that a canvas is drawn again. */
export function useThemeCount(): number {
  const [count, setCount] = useState(0)
  useEffect(() => {
    const change = (): void => setCount((before) => before + 1)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const observer = new MutationObserver(change)
    scheme.addEventListener('change', change)
    observer.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      scheme.removeEventListener('change', change)
      observer.disconnect()
    }
  }, [])
  return count
}
