// What Python may pass, checked and in the kernels' terms. A message says which argument is wrong,
// what it is and what would be right; it never holds a value of an array.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "kernels.h"
#include "rows.h"

namespace dynaserve {

namespace py = pybind11;
using std::ptrdiff_t;

// Functions take plain objects and convert them here: pybind11's own message for an argument of
// the wrong type prints all of them, logits and row keys included.
inline py::array array_of(const char* name, const py::object& object) {
    if (py::isinstance<py::array>(object)) return py::reinterpret_borrow<py::array>(object);
    auto array = py::array::ensure(object);
    if (!array) throw py::value_error(std::string(name) + " cannot be read as an array");
    return array;
}

inline double number_of(const char* name, const py::object& object) {
    const double value = PyFloat_AsDouble(object.ptr());
    if (value == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw py::type_error(std::string(name) + " must be a number, not " +
                             Py_TYPE(object.ptr())->tp_name);
    }
    return value;
}

inline bool flag_of(const char* name, const py::object& object) {
    const int value = PyObject_IsTrue(object.ptr());
    if (value < 0) {
        PyErr_Clear();
        throw py::type_error(std::string(name) + " must be True or False");
    }
    return value != 0;
}

// Valid while the object is.
inline std::string_view bytes_of(const char* name, const py::object& object) {
    if (!PyBytes_Check(object.ptr())) {
        throw py::type_error(std::string(name) + " must be bytes, not " +
                             Py_TYPE(object.ptr())->tp_name);
    }
    return {PyBytes_AS_STRING(object.ptr()),
            static_cast<std::size_t>(PyBytes_GET_SIZE(object.ptr()))};
}

inline std::string text(const py::handle& object) { return py::str(object).cast<std::string>(); }

inline Type logits_type(const py::dtype& dtype) {
    if (dtype.kind() == 'f' && dtype.attr("isnative").cast<bool>()) {
        switch (dtype.itemsize()) {
            case 2:
                return Type::float16;
            case 4:
                return Type::float32;
            case 8:
                return Type::float64;
        }
    }
    throw py::value_error("logits have dtype " + text(dtype) +
                          "; they must be float16, float32 or float64 in native byte order");
}

// A view of logits (..., k) as rows; holds the row offsets where no single stride reaches them.
class Batch {
  public:
    explicit Batch(const py::array& logits) {
        const ptrdiff_t last = logits.ndim() - 1;
        if (last < 0) throw py::value_error("logits are a single number; they need a class axis");
        const ptrdiff_t classes = logits.shape(last);
        if (classes < 2) {
            throw py::value_error("logits have " + std::to_string(classes) +
                                  " class(es) on their last axis; at least 2 are needed");
        }
        rows_.data = static_cast<const char*>(logits.data());
        rows_.type = logits_type(logits.dtype());
        rows_.classes = classes;
        rows_.class_stride = logits.strides(last);
        rows_.count = 1;
        for (ptrdiff_t axis = 0; axis < last; ++axis) rows_.count *= logits.shape(axis);
        set_row_stride(logits, last);
        constexpr int aligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
        rows_.packed = rows_.type == Type::float32 && rows_.class_stride == sizeof(float) &&
                       (logits.flags() & aligned) != 0;
    }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    const Rows& rows() const { return rows_; }

  private:
    void set_row_stride(const py::array& logits, ptrdiff_t last) {
        rows_.row_stride = last > 0 ? logits.strides(last - 1) : 0;
        rows_.offsets = nullptr;
        bool single = true;
        for (ptrdiff_t axis = last - 2; axis >= 0; --axis) {
            single =
                single && logits.strides(axis) == logits.strides(axis + 1) * logits.shape(axis + 1);
        }
        if (single) return;
        offsets_.resize(static_cast<std::size_t>(rows_.count));
        for (ptrdiff_t i = 0; i < rows_.count; ++i) {
            ptrdiff_t left = i, offset = 0;
            for (ptrdiff_t axis = last - 1; axis >= 0; --axis) {
                offset += left % logits.shape(axis) * logits.strides(axis);
                left /= logits.shape(axis);
            }
            offsets_[static_cast<std::size_t>(i)] = offset;
        }
        rows_.offsets = offsets_.data();
    }

    Rows rows_;
    std::vector<ptrdiff_t> offsets_;
};

inline std::string text(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", value);
    return buffer;
}

// Far from the ends of float32, in which the kernels work, so that nothing overflows on the way.
constexpr double largest_parameter = 1e30;

inline double checked(const char* name, double value, double least) {
    if (!(value >= least && value <= largest_parameter)) {
        throw py::value_error(std::string(name) + " is " + text(value) + "; it must be between " +
                              text(least) + " and " + text(largest_parameter));
    }
    return value;
}

inline DynaNoiseParameters dynanoise_parameters(double base_variance, double sensitivity_scale,
                                                double temperature, bool preserve_top1) {
    checked("base_variance", base_variance, 0);
    checked("sensitivity_scale", sensitivity_scale, 0);
    checked("temperature", temperature, 1 / largest_parameter);
    const double largest_variance = base_variance * (1 + sensitivity_scale);
    checked("base_variance * (1 + sensitivity_scale)", largest_variance, 0);
    const double largest_noise = 6 * std::sqrt(largest_variance);  // |g| < 6
    checked("the largest noise / temperature", largest_noise / temperature, 0);
    return {static_cast<float>(base_variance), static_cast<float>(sensitivity_scale),
            static_cast<float>(1 / temperature), preserve_top1};
}

constexpr int packed = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;

inline py::array_t<std::uint32_t, packed> words(const char* name, const py::array& array,
                                                ptrdiff_t rows, ptrdiff_t columns) {
    if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != columns) {
        throw py::value_error(std::string(name) + " has shape " + text(array.attr("shape")) +
                              "; it must be (" + std::to_string(rows) + ", " +
                              std::to_string(columns) + "), one row of words per row");
    }
    if (!py::isinstance<py::array_t<std::uint32_t>>(array)) {
        throw py::value_error(std::string(name) + " has dtype " + text(array.dtype()) +
                              "; it must be uint32");
    }
    return py::array_t<std::uint32_t, packed>::ensure(array);
}

// One row of real numbers as float64; of `size` values, or of any number where size is -1.
inline py::array_t<double, packed> numbers(const char* name, const py::array& array,
                                           ptrdiff_t size) {
    if (std::string("fiu").find(array.dtype().kind()) == std::string::npos || array.ndim() != 1 ||
        (size >= 0 && array.size() != size)) {
        throw py::value_error(std::string(name) + " has shape " + text(array.attr("shape")) +
                              " and dtype " + text(array.dtype()) + "; it must be (" +
                              (size < 0 ? "n" : std::to_string(size)) + ",), real numbers");
    }
    return py::array_t<double, packed | py::array::forcecast>::ensure(array);
}

}  // namespace dynaserve
