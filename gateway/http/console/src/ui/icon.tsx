// Icons: Lucide's outlines, drawn as inline SVG in the color of the text around them.
import { createElement } from "preact";
import {
  Activity, ArrowDown, ArrowUp, Bookmark, Braces, ChartColumn, Check, ChevronDown, ChevronLeft, ChevronRight, CircleAlert,
  CircleCheck, CircleHelp, CircleX, Clock, Columns3, Copy, Database, Download, EllipsisVertical, ExternalLink, Eye, EyeOff, FileCode,
  FileText, Filter, Folder, FolderOpen, FunctionSquare, GitBranch, HardDrive, History, Info, KeyRound, Keyboard, Layers, Link, ListTree, Lock,
  LogIn, LogOut, Maximize, Menu, Minus, Moon, Network, PanelLeft, Pencil, Play, Plug, Plus, RefreshCw, RotateCcw, Save, Search, Share2,
  ShieldCheck, Sigma, Square, StepForward, Sun, SunMoon, Table2, Trash2, Type, User, Users, Variable, WandSparkles, X, Zap,
} from "lucide";

const ICONS = {
  activity: Activity, ascending: ArrowUp, bookmark: Bookmark, braces: Braces, chart: ChartColumn, check: Check,
  clock: Clock, close: X, columns: Columns3, connect: Plug, copy: Copy, database: Database, delete: Trash2,
  descending: ArrowDown, down: ChevronDown, download: Download, edit: Pencil, error: CircleX, file: FileText, filter: Filter, fit: Maximize,
  folder: Folder, folderOpen: FolderOpen, format: WandSparkles, function: FunctionSquare, grants: ShieldCheck, help: CircleHelp,
  hide: EyeOff, history: History, info: Info, keyboard: Keyboard, keyword: Type, layers: Layers, left: ChevronLeft, lineage: GitBranch,
  link: Link, lock: Lock, logIn: LogIn, logOut: LogOut, menu: Menu, minus: Minus, moon: Moon, more: EllipsisVertical, open: ExternalLink,
  panel: PanelLeft, parameter: Variable, plan: Network, play: Play, plus: Plus, policies: EyeOff, policy: EyeOff, query: FileCode, refresh: RefreshCw,
  reopen: RotateCcw, right: ChevronRight, runAll: StepForward, save: Save, search: Search, share: Share2, show: Eye, statistics: Sigma,
  stop: Square, success: CircleCheck, sun: Sun, system: SunMoon, table: Table2, token: KeyRound, tokens: KeyRound, tree: ListTree, user: User,
  users: Users, view: Eye, volume: HardDrive, warning: CircleAlert, zap: Zap,
};

export type IconName = keyof typeof ICONS;

/** Draws an icon of `size` pixels. It is hidden from screen readers: the control around it has the name. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      {ICONS[name].map(([element, attributes], at) => createElement(element, { key: at, ...attributes }))}
    </svg>
  );
}
