import { Button, createTheme, type MantineColorsTuple, Modal, Notification, PasswordInput, Select, Tabs, TextInput, Tooltip } from "@mantine/core";

const iris: MantineColorsTuple = [
  "#eef0fd",
  "#dde1fa",
  "#bcc4f4",
  "#98a4ee",
  "#7a89e8",
  "#6273e2",
  "#4c5fd5",
  "#4253c0",
  "#3847a6",
  "#2c3888",
];

// Mantine's red is too light for white letters.
const red: MantineColorsTuple = [
  "#fdeae8",
  "#fad3cf",
  "#f4a7a0",
  "#ec7a70",
  "#dc4f44",
  "#c93a2f",
  "#b3261e",
  "#9c2019",
  "#841a14",
  "#6b150f",
];

// The greys of fields and buttons in the dark, as cool as the surfaces of ui.css.
const dark: MantineColorsTuple = [
  "#e7e9ee",
  "#c6ccd6",
  "#a0a8b6",
  "#7d8694",
  "#363d49",
  "#2b313b",
  "#1b1f27",
  "#15181e",
  "#101318",
  "#0b0d11",
];

const closes = { "aria-label": "Close" };
const small = { defaultProps: { size: "xs" } };

/** theme is Mantine's, in Muster's type scale: 11, 12, 13, 15 and 20 px. */
export const theme = createTheme({
  primaryColor: "iris",
  primaryShade: { light: 6, dark: 6 },
  colors: { iris, red, dark },
  fontFamily: '"Inter Variable", system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "JetBrains Mono", "SF Mono", "DejaVu Sans Mono", monospace',
  fontSizes: { xs: "12px", sm: "13px", md: "13px", lg: "15px", xl: "20px" },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
  radius: { xs: "3px", sm: "5px", md: "7px", lg: "10px", xl: "14px" },
  defaultRadius: "sm",
  cursorType: "pointer",
  components: {
    Button: Button.extend(small),
    TextInput: TextInput.extend(small),
    PasswordInput: PasswordInput.extend(small),
    Select: Select.extend(small),
    Tabs: Tabs.extend({}),
    Modal: Modal.extend({ defaultProps: { radius: "lg", overlayProps: { backgroundOpacity: 0.4 }, closeButtonProps: closes } }),
    Notification: Notification.extend({ defaultProps: { closeButtonProps: closes } }),
    Tooltip: Tooltip.extend({
      defaultProps: { openDelay: 250, withArrow: true, multiline: true, events: { hover: true, focus: true, touch: true } },
    }),
  },
});
